"""A meta store whose disk fills up says so, keeps what it had, and goes on when there is room."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tieout.errors import MetaStoreError
from tieout.meta import FinishedRange, JobKind, JobState, MetaStore, RangeState, open_store
from tieout.model.differences import Difference, DifferenceKind
from tieout.model.keys import EVERYTHING

MEGABYTES = 2


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of two megabytes."""
    mounted = tmp_path / "disk"
    mounted.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m", "tmpfs", str(mounted)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("this user may not mount a small disk (root may); the limit on file sizes is tested in any case")
    yield mounted
    subprocess.run(["umount", "--lazy", str(mounted)], check=True)


def fill(disk: Path, leave: int = 0) -> Path:
    ballast = disk / "ballast"
    statistics = os.statvfs(disk)
    ballast.write_bytes(b"\xff" * (statistics.f_bavail * statistics.f_frsize - leave))
    return ballast


def wide(key: int) -> Difference:
    return Difference("main.orders", DifferenceKind.MISSING, {"id": f"{key:02000}"})


def start_job(store: MetaStore) -> str:
    job = store.jobs.create(JobKind.VERIFICATION, source="a", target="b", request={})
    store.tables.add(job.id, [("main.orders", "main.orders")])
    store.ranges.plan(job.id, 0, [EVERYTHING] * 1000)
    return job.id


def recorded(store: MetaStore, job_id: str) -> list[int]:
    return [each.ordinal for each in store.ranges.load(job_id, 0) if each.state is RangeState.COMPARED]


def record_until_full(store: MetaStore, job_id: str) -> tuple[int, MetaStoreError]:
    """The number of ranges recorded before the disk was full, and the error."""
    for ordinal in range(1000):
        try:
            finished = FinishedRange(ordinal, state=RangeState.COMPARED, differences=[wide(i) for i in range(5)])
            store.ranges.record(job_id, 0, [finished])
        except MetaStoreError as error:
            return ordinal, error
    raise AssertionError("the disk never became full")


def test_it_says_so_keeps_what_it_had_and_goes_on(disk: Path) -> None:
    ballast = fill(disk, leave=MEGABYTES << 19)
    url = f"sqlite:///{disk}/.tieout/meta.db"
    with open_store(url) as store:
        job_id = start_job(store)
        count, error = record_until_full(store, job_id)
        assert count > 10
        assert error.message == f"the meta store's disk is full: {disk}/.tieout/meta.db"
        assert error.hint is not None
        assert "free space" in error.hint
        assert recorded(store, job_id) == list(range(count))
        ballast.unlink()
        store.ranges.record(job_id, 0, [FinishedRange(count, state=RangeState.COMPARED)])
    with open_store(url) as store:
        assert recorded(store, job_id) == list(range(count + 1))
        assert store.differences.count(job_id).missing == 5 * count


def test_a_job_that_was_killed_on_a_full_disk_can_be_resumed(disk: Path) -> None:
    ballast = fill(disk, leave=MEGABYTES << 19)
    url = f"sqlite:///{disk}/meta.db"
    pid = os.fork()
    if pid == 0:
        with open_store(url) as store:
            record_until_full(store, start_job(store))
            os.kill(os.getpid(), 9)
    os.waitpid(pid, 0)
    ballast.unlink()
    with open_store(url) as store:
        job = store.jobs.resume("last")
        kept = recorded(store, job.id)
        assert kept == list(range(len(kept)))
        assert len(kept) > 10
        assert store.differences.count(job.id).missing == 5 * len(kept)
        assert store.jobs.finish(job.id, verdict="different").state is JobState.DONE


@pytest.mark.parametrize("leave", [0, 4096, 8192, 20_000])
def test_a_store_that_can_not_be_made_for_want_of_space(disk: Path, leave: int) -> None:
    ballast = fill(disk, leave=leave)
    url = f"sqlite:///{disk}/.tieout/meta.db"
    with pytest.raises(MetaStoreError, match="the meta store's disk is full"):
        open_store(url)
    ballast.unlink()
    with open_store(url) as store:
        assert store.jobs.list() == []


def test_a_limit_on_the_size_of_files_is_told_in_words_too(tmp_path: Path) -> None:
    """Not a full disk, but the same to whoever writes: a quota of the process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with open_store(f"sqlite:///{tmp_path}/meta.db") as store:
        job_id = start_job(store)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
        try:
            count, error = record_until_full(store, job_id)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert error.message == f"the meta store's disk can't be read or written: {tmp_path}/meta.db"
        assert recorded(store, job_id) == list(range(count))
        store.ranges.record(job_id, 0, [FinishedRange(count, state=RangeState.COMPARED)])
