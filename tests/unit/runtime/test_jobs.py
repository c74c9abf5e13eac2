"""Jobs as they run: what other terminals want of them, and how they end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from tieout.errors import ReadError
from tieout.meta import JobKind, JobState, MetaStore, Wanted, open_store
from tieout.runtime.control import HoldingControl, JobControl, Stopped
from tieout.runtime.job import Interrupted, running


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MetaStore]:
    with open_store(f"sqlite:///{tmp_path}/meta.db") as store:
        yield store


@pytest.fixture
def job(store: MetaStore) -> str:
    return store.jobs.create(JobKind.CHECK, source="sqlite:///a.db", target=None, request={}).id


@pytest.mark.parametrize(
    ("wanted", "state"),
    [(Wanted.PAUSE, JobState.PAUSED), (Wanted.CANCEL, JobState.CANCELLED), (Wanted.STOP, JobState.STOPPED)],
)
def test_another_terminal_ends_a_job_while_it_waits(
    store: MetaStore, job: str, wanted: Wanted, state: JobState
) -> None:
    store.jobs.set_wanted(job, wanted)
    with pytest.raises(Interrupted) as raised, running(store.jobs, job):
        JobControl(store.jobs, job).wait(3600)
    assert (raised.value.job, raised.value.state, store.jobs.get(job).state) == (job, state, state)


def test_ctrl_c_leaves_a_job_that_can_go_on(store: MetaStore, job: str) -> None:
    with pytest.raises(Interrupted), running(store.jobs, job):
        raise KeyboardInterrupt
    assert store.jobs.get(job).state is JobState.INTERRUPTED
    assert store.jobs.resume(job).state is JobState.RUNNING


@pytest.mark.parametrize(
    ("error", "kept"),
    [
        (ReadError("t can't be read", "repair it"), "t can't be read (repair it)"),
        (ValueError("odd\nmore"), "ValueError: odd"),
    ],
)
def test_whatever_fails_the_job_says_so(store: MetaStore, job: str, error: Exception, kept: str) -> None:
    ends: list[tuple[JobState, str | None]] = []
    with pytest.raises(type(error)), running(store.jobs, job, lambda state, line: ends.append((state, line))):
        raise error
    assert (store.jobs.get(job).state, store.jobs.get(job).error) == (JobState.FAILED, kept)
    assert ends == [(JobState.FAILED, kept)]


def test_a_job_that_is_not_told_of_its_end_is_failed_all_the_same(store: MetaStore, job: str) -> None:
    def refuses(state: JobState, line: str | None) -> None:
        raise ReadError("nobody listens")

    with pytest.raises(ValueError, match="odd"), running(store.jobs, job, refuses):
        raise ValueError("odd")
    assert store.jobs.get(job).state is JobState.FAILED


def holding(
    store: MetaStore, job: str, reasons: list[str | None], shown: list[tuple[str, str | None]]
) -> HoldingControl:
    """A control whose throttle gives these reasons, one after the other."""
    state = ["following"]

    def show(now: str, reason: str | None) -> None:
        state[0] = now
        shown.append((now, reason))

    return HoldingControl(store.jobs, job, lambda: reasons.pop(0) if reasons else None, lambda: state[0], show)


def test_a_job_holds_while_it_is_throttled_and_goes_on_as_it_was(store: MetaStore, job: str) -> None:
    shown: list[tuple[str, str | None]] = []
    holding(store, job, ["busy", "busy", "lagging"], shown).hold()
    assert shown == [("throttled", "busy"), ("throttled", "lagging"), ("following", None)]


def test_a_job_that_is_released_is_as_it_was_before(store: MetaStore, job: str) -> None:
    shown: list[tuple[str, str | None]] = []
    released = Event()
    released.set()
    holding(store, job, ["busy"] * 3, shown).hold(released)
    assert shown == [("throttled", "busy"), ("following", None)]


@pytest.mark.parametrize("wanted", [Wanted.STOP, Wanted.CANCEL])
def test_a_job_that_holds_is_stopped(store: MetaStore, job: str, wanted: Wanted) -> None:
    store.jobs.set_wanted(job, wanted)
    with pytest.raises(Stopped) as raised:
        holding(store, job, ["busy"], []).wait(3600)
    assert raised.value.wanted is Wanted.STOP
