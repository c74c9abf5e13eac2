"""Whatever ends a mover, its job and its status say so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tieout import api
from tieout.config.urls import parse_url
from tieout.errors import MetaStoreError, SparkFailure, WriteError
from tieout.meta import JobState, MetaStore, open_store
from tieout.model.levels import Levels
from tieout.model.moves import Consistency, Delivery
from tieout.model.requests import MoveRequest
from tieout.move.job import MoveJob

LEVELS = Levels(Delivery.EXACTLY_ONCE, Consistency.TRANSACTION)


@pytest.fixture
def meta(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/meta.db"


@pytest.fixture
def store(meta: str) -> Iterator[MetaStore]:
    with open_store(meta) as opened:
        yield opened


@pytest.fixture
def job(store: MetaStore, tmp_path: Path) -> MoveJob:
    (tmp_path / "target.db").touch()
    url = f"sqlite:///{tmp_path}/target.db"
    sides: Any = (None, None)
    source: Any = None
    return MoveJob(
        store, MoveRequest("shop", url, url), LEVELS, sides, source, parse_url(url), ("a", "b"), lambda status: None
    )


class Panic(BaseException):
    """What a driver written in Rust raises."""


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (SparkFailure("executors were lost", "look at them"), "executors were lost (look at them)"),
        (ValueError("max() of nothing\nmore"), "ValueError: max() of nothing"),
        (Panic("oh"), "Panic: oh"),
    ],
)
def test_an_error_of_any_kind(
    job: MoveJob, meta: str, monkeypatch: pytest.MonkeyPatch, error: BaseException, words: str
) -> None:
    def fail(*args: object, **options: object) -> None:
        told = api.move_status("shop", meta)
        assert told is not None
        assert told.state == "starting"
        raise error

    monkeypatch.setattr(job, "_move", fail)
    with pytest.raises(type(error)):
        job.run(lambda: pytest.fail("no session is asked for"))
    told = api.move_status("shop", meta)
    assert told is not None
    assert (told.state, told.message) == ("failed", words)
    (kept,) = job.store.jobs.list(task="shop")
    assert (kept.state, kept.error) == (JobState.FAILED, words)


@pytest.mark.parametrize(
    ("kind", "raised", "words"),
    [
        (WriteError, WriteError, "Incorrect integer value: *** for column `c` at row 1"),
        # Nobody knows whose words a crash has.
        (ValueError, RuntimeError, "ValueError (its message is redacted)"),
    ],
)
def test_no_value_is_quoted(
    job: MoveJob,
    meta: str,
    monkeypatch: pytest.MonkeyPatch,
    kind: type[Exception],
    raised: type[Exception],
    words: str,
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise kind("Incorrect integer value: '4929 1234' for column `c` at row 1")

    monkeypatch.setattr(job, "request", replace(job.request, redact_values=True))
    monkeypatch.setattr(job, "_move", fail)
    with pytest.raises(raised):
        job.run(lambda: pytest.fail("no session is asked for"))
    (kept,) = job.store.jobs.list(task="shop")
    for told in (str(api.move_status("shop", meta)), str(kept)):
        assert words in told
        assert "4929 1234" not in told


def test_the_error_is_told_even_if_it_can_not_be_kept(job: MoveJob, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **options: object) -> None:
        raise ValueError("the first")

    def full(*args: object) -> None:
        raise MetaStoreError("the disk is full")

    monkeypatch.setattr(job, "_move", fail)
    monkeypatch.setattr(job.store.jobs, "fail", full)
    with pytest.raises(ValueError, match="the first"):
        job.run(lambda: pytest.fail("no session is asked for"))
