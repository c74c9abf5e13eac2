"""Work on sides that only a Spark session can read: jobs that the driver starts, beside those of the executors."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from pyspark import inheritable_thread_target
from pyspark.sql import DataFrame, SparkSession

from tieout.canonical.bucket_digests import bucket_count, pack_buckets
from tieout.errors import SparkFailure, TieoutError
from tieout.model.digests import EMPTY
from tieout.model.keys import EVERYTHING
from tieout.model.results import Strategy
from tieout.spark.errors import frame_errors
from tieout.spark.executor_work import Outcome, Work, interruptible, run_work
from tieout.spark.frames.endpoint import FrameReader
from tieout.spark.frames.values import selected
from tieout.verification.frame_rows import native_digests, pulled_digests, suspect_rows
from tieout.verification.table_plan import Side, TablePlan
from tieout.verification.table_state import TableRun
from tieout.verification.work import BucketDigests, CountRange

_AT_ONCE = 4


@runtime_checkable
class FrameWork(Protocol):
    """Work that needs the session, and so the driver. It yields like other work."""

    def run_on(self, spark: SparkSession) -> Any: ...

    def run(self) -> Iterator[Any]: ...


def is_native_pair(plan: TablePlan) -> bool:
    """Both sides are frames, hashed by Spark itself."""
    return plan.strategy is Strategy.NATIVE and not plan.aligned


def rows_of(spark: SparkSession, side: Side) -> DataFrame:
    """The rows and columns of a side that is a frame."""
    assert isinstance(side.reader, FrameReader)
    with _faults(side):
        return selected(side.reader.frame(spark, side.scan.table.name), side.scan)


@dataclass(frozen=True)
class _OnDriver:
    def run(self) -> Iterator[Any]:
        raise SparkFailure(f"{type(self).__name__} can't run on an executor")


@dataclass(frozen=True)
class DigestFrame(_OnDriver):
    """The bucket digests of one side."""

    plan: TablePlan
    is_source: bool

    def run_on(self, spark: SparkSession) -> BucketDigests:
        started = time.monotonic()
        plan = self.plan
        side, other = (plan.source, plan.target) if self.is_source else (plan.target, plan.source)
        with _faults(side):
            if is_native_pair(plan):
                assert plan.hash is not None
                pair = (rows_of(spark, side), rows_of(spark, other))
                found = native_digests(pair, (side.scan, other.scan), plan.hash.seed, plan.buckets, both=False)[0]
            else:
                found = pulled_digests(rows_of(spark, side), side.scan, plan.buckets)
        total = sum(found.values(), EMPTY)
        return BucketDigests(total, pack_buckets(found), time.monotonic() - started)


def native_suspects(spark: SparkSession, run: TableRun) -> DataFrame:
    """The payloads of all rows that may differ, of a table whose two sides Spark hashed itself."""
    plan, wanted = run.plan, frozenset(run.differing_buckets)
    assert plan.hash is not None
    found = (run.source_buckets, run.target_buckets)
    rows = max(sum(buckets[b].count for b in wanted if b in buckets) for buckets in found)
    frames = rows_of(spark, plan.source), rows_of(spark, plan.target)
    scans = plan.source.scan, plan.target.scan
    return suspect_rows(frames, scans, plan.hash.seed, (plan.buckets, wanted), bucket_count(rows))


@dataclass(frozen=True)
class CountFrame(_OnDriver):
    side: Side

    def run_on(self, spark: SparkSession) -> int:
        with _faults(self.side):
            return rows_of(spark, self.side).count()


def count_work(side: Side) -> Work:
    return CountFrame(side) if side.is_frame else CountRange(side, EVERYTHING)


def run_mixed(spark: SparkSession, partitions: Sequence[Sequence[Work]]) -> list[list[Outcome]]:
    """`run_work`, of which pieces that need the session run as jobs of their own at the same time."""
    if not any(isinstance(piece, FrameWork) for partition in partitions for piece in partition):
        return run_work(spark, partitions)
    return interruptible(spark, lambda: _run_mixed(spark, partitions))


def _run_mixed(spark: SparkSession, partitions: Sequence[Sequence[Work]]) -> list[list[Outcome]]:
    run = inheritable_thread_target(spark)(_outcome)
    pool = ThreadPoolExecutor(_AT_ONCE)
    try:
        jobs = {
            (number, place): pool.submit(run, spark, piece)
            for number, partition in enumerate(partitions)
            for place, piece in enumerate(partition)
            if isinstance(piece, FrameWork)
        }
        others = [[piece for piece in partition if not isinstance(piece, FrameWork)] for partition in partitions]
        done = [iter(outcomes) for outcomes in run_work(spark, others)]
        return [
            [jobs[number, place].result() if (number, place) in jobs else next(done[number]) for place in range(len(p))]
            for number, p in enumerate(partitions)
        ]
    finally:
        # After Ctrl-C nobody waits for a job that is being cancelled.
        pool.shutdown(wait=False, cancel_futures=True)


def _outcome(spark: SparkSession, piece: FrameWork) -> Outcome:
    try:
        return Outcome((piece.run_on(spark),))
    except TieoutError as error:
        return Outcome((), error)


def _faults(side: Side) -> AbstractContextManager[None]:
    assert isinstance(side.reader, FrameReader)
    return frame_errors(side.reader.place(side.scan.table.name))
