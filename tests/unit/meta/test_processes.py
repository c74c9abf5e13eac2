"""Several processes use one store; one of them may be killed at any moment."""

from __future__ import annotations

import signal
import sqlite3
import time

import pytest

from tests.unit.meta.conftest import Child
from tieout.errors import MetaStoreError
from tieout.meta import JobState, MetaStore, RangeState, Wanted, open_store
from tieout.model.differences import DifferenceCounts

RANGES = 400

WORKER = f"""
    import sys
    from tieout.meta import FinishedRange, JobKind, RangeState, open_store
    from tieout.model.differences import Difference, DifferenceKind
    from tieout.model.digests import Digest
    from tieout.model.keys import EVERYTHING

    def finished(ordinal):
        found = [Difference("t", DifferenceKind.MISSING, {{"id": f"{{ordinal}}/{{i}}"}}) for i in range(ordinal % 5)]
        return FinishedRange(ordinal, source_digest=Digest(ordinal, 1), rows=10, differences=found)

    with open_store(sys.argv[1]) as store:
        if len(sys.argv) == 2:
            job = store.jobs.create(JobKind.VERIFICATION, source="a", target="b", request={{}})
            store.tables.add(job.id, [("t", "t")])
            store.ranges.plan(job.id, 0, [EVERYTHING] * {RANGES})
        else:
            job = store.jobs.resume(sys.argv[2])
        print(job.id, flush=True)
        left = [each.ordinal for each in store.ranges.load(job.id, 0) if each.state is RangeState.PLANNED]
        for start in range(0, len(left), 3):
            batch = left[start : start + 3]
            store.ranges.record(job.id, 0, [finished(ordinal) for ordinal in batch])
            print(*batch, flush=True)
        store.jobs.finish(job.id, verdict="different")
"""


def check_what_is_kept(store: MetaStore, job_id: str, told: set[int]) -> None:
    """All that was told is there; and of each range that is there, everything."""
    done = {each.ordinal for each in store.ranges.load(job_id, 0) if each.state is RangeState.DONE}
    assert told <= done
    keys = [difference.key["id"] for difference in store.differences.iterate(job_id)]
    assert keys == [f"{ordinal}/{i}" for ordinal in sorted(done) for i in range(ordinal % 5)]
    assert store.tables.all(job_id)[0].rows_done == 10 * len(done)


def test_what_was_committed_outlives_kill_9_and_the_job_goes_on(url: str, child: Child) -> None:
    told: set[int] = set()
    job_id: str | None = None
    for lines in (1, 7, 20, 2):
        process = child(WORKER, url, *([job_id] if job_id else []))
        assert process.stdout is not None
        job_id = process.stdout.readline().strip()
        for _ in range(lines):
            told.update(map(int, process.stdout.readline().split()))
        process.send_signal(signal.SIGKILL)
        for line in process.stdout:  # what it said before it died
            if line.endswith("\n"):
                told.update(map(int, line.split()))
        process.wait()
        with open_store(url) as store:
            assert store.jobs.get("last").state is JobState.INTERRUPTED  # at once: its process is gone
            check_what_is_kept(store, job_id, told)
    assert job_id is not None
    assert child(WORKER, url, job_id).wait(timeout=60) == 0
    with open_store(url) as store:
        assert store.jobs.get(job_id).state is JobState.DONE
        check_what_is_kept(store, job_id, set(range(RANGES)))
        assert store.differences.count(job_id) == DifferenceCounts(missing=2 * RANGES)
    assert sqlite3.connect(url.removeprefix("sqlite:///")).execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_another_terminal_watches_and_steers_a_process_that_writes(url: str, child: Child) -> None:
    text = """
        import sys
        from tieout.meta import FinishedRange, JobKind, JobState, Wanted, open_store
        from tieout.model.keys import EVERYTHING
        with open_store(sys.argv[1]) as store:
            job = store.jobs.create(JobKind.VERIFICATION, source="a", target="b", request={})
            store.tables.add(job.id, [("t", "t")])
            store.ranges.plan(job.id, 0, [EVERYTHING])
            print(job.id, flush=True)
            rows = 0
            while store.jobs.wanted(job.id) is not Wanted.PAUSE:
                rows += 1
                store.ranges.record(job.id, 0, [FinishedRange(0, rows=rows)])
            store.jobs.stop(job.id, JobState.PAUSED)
    """
    process = child(text, url)
    assert process.stdout is not None
    job_id = process.stdout.readline().strip()
    with open_store(url) as store:
        seen = set()
        deadline = time.monotonic() + 30
        while len(seen) < 5 and time.monotonic() < deadline:
            seen.add(store.tables.all(job_id)[0].rows_done)
        assert store.jobs.get(job_id).state is JobState.RUNNING
        store.jobs.set_wanted(job_id, Wanted.PAUSE)
        assert process.wait(timeout=30) == 0
        assert store.jobs.get(job_id).state is JobState.PAUSED
        assert len(seen) == 5


def test_only_one_of_many_resumes_a_job(store: MetaStore, url: str, child: Child) -> None:
    killed = child(WORKER, url)
    assert killed.stdout is not None
    job_id = killed.stdout.readline().strip()
    killed.kill()
    killed.wait()
    text = """
        import sys
        from tieout.errors import UsageError
        from tieout.meta import open_store
        with open_store(sys.argv[1]) as store:
            input()
            try:
                store.jobs.resume(sys.argv[2])
                print("mine", flush=True)
            except UsageError as error:
                print(error.message, flush=True)
            input()
    """
    children = [child(text, url, job_id) for _ in range(3)]
    said = []
    for process in children:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in children:
        assert process.stdout is not None
        said.append(process.stdout.readline().strip())
    assert sorted(word == "mine" for word in said) == [False, False, True]
    assert all("is already running" in word for word in said if word != "mine")
    with pytest.raises(MetaStoreError, match=r"another process .* resumed job"):
        store.jobs.heartbeat(job_id)
