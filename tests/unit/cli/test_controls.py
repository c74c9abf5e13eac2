"""Commands that ask something of a running process answer in the form that was asked for."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from tieout.meta import JobKind, open_store

META = "sqlite:///meta.db"
STATUS = {
    "kind": "status",
    "task": "shop",
    "state": "following",
    "message": None,
    "delivery": "at-least-once",
    "position": "1",
    "consistent_from": None,
    "changes": 0,
    "rows_per_second": 0.0,
    "newest_commit": None,
    "lag_seconds": 0.0,
    "lag_bytes": 0,
    "log_kept_bytes": 3 << 20,
    "log_limit": "nothing limits the log",
    "log_warning": None,
    "left_behind": "replication slot a and publication a",
    "seconds_left": 0.0,
    "tables": [],
    "remarks": [],
    "updated_at": "2026-11-18T10:00:00+00:00",
}


@pytest.fixture
def job(tieout) -> str:
    """A mover of the task shop, which this process claims to be."""
    with open_store(META) as store:
        job = store.jobs.create(JobKind.MOVE, source="a", target="b", request={}, task="shop")
        store.moves.set_status(job.id, "shop", STATUS)
        return job.id


@pytest.mark.parametrize(("command", "wanted"), [("pause", "pause"), ("resume", "run"), ("stop", "stop")])
@pytest.mark.parametrize("form", ["json", "ndjson"])
def test_what_is_asked_of_a_mover_is_a_document(tieout, job: str, command: str, wanted: str, form: str):
    ended = tieout(command, "shop", "--meta", META, "--output", form)
    assert ended.code == 0
    document = json.loads(ended.out)
    assert {name: document[name] for name in ("kind", "task", "wanted", "job")} == {
        "kind": "control",
        "task": "shop",
        "wanted": wanted,
        "job": job,
    }


def test_who_stops_a_mover_learns_what_stays_at_the_source(tieout, job: str):
    document = json.loads(tieout("stop", "shop", "--meta", META, "--output", "json").out)
    assert document["left_behind"] == "replication slot a and publication a"
    assert (document["log_kept_bytes"], document["log_limit"]) == (3 << 20, "nothing limits the log")
    lines = tieout("stop", "shop", "--meta", META).out.splitlines()
    assert lines[0].startswith("shop will stop")
    assert lines[1].startswith("replication slot a and publication a stay at the source, which keeps 3.0 MB of log")
    assert lines[2] == "tieout task drop shop removes them"


def test_who_only_pauses_a_mover_hears_nothing_of_that(tieout, job: str):
    (line,) = tieout("pause", "shop", "--meta", META).out.splitlines()
    assert line.startswith("shop will pause")


def test_a_form_that_it_does_not_have_is_refused(tieout, job: str):
    assert "can't be written as html" in tieout("pause", "shop", "--meta", META, "--output", "html").err


def test_a_dropped_task_is_a_document(tieout, tmp_path: Path):
    for name in ("a", "b"):
        sqlite3.connect(tmp_path / f"{name}.db").close()
    (tmp_path / "tieout.yaml").write_text(
        "endpoints: {a: {url: 'sqlite:///a.db'}, b: {url: 'sqlite:///b.db'}}\ntasks: {shop: {source: a, target: b}}\n"
    )
    ended = tieout("task", "drop", "shop", "--meta", META, "--output", "json")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out) == {"kind": "dropped task", "task": "shop"}


def test_a_check_has_no_target_to_resume_with(tieout):
    with open_store(META) as store:
        job = store.jobs.create(
            JobKind.CHECK, source="sqlite:///a.db", target=None, request={"statement": "CHECK TABLE t", "limit": 10}
        )
        store.jobs.fail(job.id, "it broke")
    ended = tieout("jobs", "resume", job.id, "--meta", META, "--target", "sqlite:///b.db")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error[usage]: job {job.id} is a check: it has one database")
