"""The row stage: compares the rows of ranges and buckets whose digests differ, and finds the differences."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from pyspark.sql import DataFrame, SparkSession

from tieout.errors import TieoutError
from tieout.meta import FinishedRange, RangeState
from tieout.meta import Side as LaneSide
from tieout.model.differences import DifferenceCounts
from tieout.model.keys import Key
from tieout.model.requests import VerifyOptions
from tieout.runtime.dispatch import deal
from tieout.runtime.ranges import pending, resumable, run_all
from tieout.spark.executor_work import interruptible, job_errors, map_batches, run_work, work_frame
from tieout.verification.bucket_rows import CompareBuckets, ScanBuckets, Suspects
from tieout.verification.frames import SendRows, bucket_rows, is_native_pair, native_suspects, rows_of
from tieout.verification.localise import (
    CompareRange,
    Localised,
    Rechecking,
    shape_of,
    written,
)
from tieout.verification.parts import can_look_up, is_transformed
from tieout.verification.plan import Side
from tieout.verification.recheck_transformed import MOST_TOGETHER, TransformedRecheck
from tieout.verification.table_state import Ledger, Suspect, TableRun
from tieout.verification.transformed import Reading, transformed_rows

KEPT_PER_RANGE = 20_000
"""Differences that a range or bucket sends to the driver; more are counted, not listed."""

_WAVE = 2


class RowStage:
    def __init__(
        self, spark: SparkSession, tasks: int, options: VerifyOptions, ledger: Ledger, between: Callable[[], None]
    ) -> None:
        self._spark = spark
        self._tasks = tasks
        self._options = options
        self._ledger = ledger
        self._between = between

    def run(self, runs: Sequence[TableRun]) -> None:
        """Compares the rows of all suspects, and records what it found after every few ranges."""
        run_all(resumable(self._waves(runs), self._compare_ranges, self._ledger.record))
        run_all(resumable(self._tables(runs), self._compare_buckets, self._ledger.record_buckets))

    def _waves(self, runs: Sequence[TableRun]) -> Iterator[Sequence[tuple[TableRun, Suspect]]]:
        suspects = [(run, suspect) for run in runs if run.failure is None for suspect in run.suspects]
        # A range that was compared before the job was stopped is not a suspect any more.
        for wave in pending(suspects, self._tasks * _WAVE):
            yield wave
            self._between()

    def _tables(self, runs: Sequence[TableRun]) -> Iterator[TableRun]:
        for run in runs:
            if run.failure is None and run.differing_buckets and not run.buckets_compared:
                yield run
                self._between()

    def _compare_ranges(self, wave: Sequence[tuple[TableRun, Suspect]]) -> Iterator[tuple[TableRun, FinishedRange]]:
        parts = deal(wave, self._tasks)
        work = [
            [CompareRange(run.plan, s.keys, s.larger, self._kept, self._rechecking(run)) for run, s in part]
            for part in parts
        ]
        for part, outcomes in zip(parts, run_work(self._spark, work), strict=True):
            for (run, suspect), outcome in zip(part, outcomes, strict=True):
                if outcome.error is not None:
                    run.fail(outcome.error)
                    continue
                found: Localised = outcome.only()
                self._take(run, found)
                yield run, _compared(suspect, found)

    def _compare_buckets(self, run: TableRun) -> Iterator[TableRun]:
        """Finds counts and differences of a table without common order; none of them, if a side could not be read."""
        plan, wanted = run.plan, frozenset(run.differing_buckets)
        if is_native_pair(plan):
            rows = native_suspects(self._spark, run)
        else:
            rows = self._scan(plan.source, True, run, wanted).unionByName(self._scan(plan.target, False, run, wanted))
        rechecking = self._rechecking(run)
        transformed = is_transformed(plan.source) or is_transformed(plan.target)
        compare = CompareBuckets(plan, shape_of(plan), self._kept, rechecking, collects=transformed)
        # A task gets whole buckets, in order; as many tasks as connections, since each may look up rows again.
        together = rows.repartition(self._tasks, "bucket").sortWithinPartitions("bucket")
        self._ledger.begin_buckets(run)
        try:
            with job_errors():
                for found in self._rechecked(run, self._compared(together, compare), rechecking):
                    self._take(run, found)
                    self._ledger.add_differences(run, found.differences)
        except TieoutError as error:
            run.fail(error)
        if run.failure is not None:
            # Tasks may have compared the rows of one side with only some rows of the other.
            run.counts, run.differences = DifferenceCounts(), []
            self._ledger.begin_buckets(run)
        else:
            yield run

    def _compared(self, together: DataFrame, compare: CompareBuckets) -> Iterator[Localised | Suspects]:
        compared = map_batches(together, compare.run, "payload binary")
        for row in interruptible(self._spark, lambda: compared.toLocalIterator(prefetchPartitions=True)):
            found = pickle.loads(row.payload)
            if isinstance(found, TieoutError):
                raise found
            yield found

    def _rechecked(
        self, run: TableRun, found: Iterable[Localised | Suspects], rechecking: Rechecking
    ) -> Iterator[Localised]:
        """What differs for certain. Suspects wait together: each recheck takes some Spark jobs."""
        recheck = TransformedRecheck(self._spark, run.plan, rechecking, self._kept, self._tasks)
        waiting: dict[bytes, Key] = {}
        for each in found:
            if isinstance(each, Localised):
                yield each
            elif not each.keys or not rechecking.times or not written(run.plan, rechecking):
                yield each.all
            else:
                yield each.certain
                waiting |= each.keys
            while len(waiting) >= MOST_TOGETHER:
                some = dict(islice(waiting.items(), MOST_TOGETHER))
                waiting = {hashed: key for hashed, key in waiting.items() if hashed not in some}
                yield recheck.of(some)
        if waiting:
            yield recheck.of(waiting)

    def _scan(self, side: Side, is_source: bool, run: TableRun, wanted: frozenset[int]) -> DataFrame:
        if is_transformed(side):
            how = Reading(self._tasks, self._options.chunk_rows)
            return transformed_rows(self._spark, side, is_source, (run.plan.buckets, wanted), how)
        if side.is_frame:
            return bucket_rows(rows_of(self._spark, side), SendRows(side.scan, is_source, run.plan.buckets, wanted))
        lane = next(lane for lane in run.lanes if (lane.side is LaneSide.SOURCE) == is_source)
        work = [
            ScanBuckets(side, is_source, keys, part, run.plan.buckets, wanted) for part, keys in enumerate(lane.ranges)
        ]
        return work_frame(self._spark, deal(work, self._tasks))

    @property
    def _kept(self) -> int | None:
        return None if self._options.limit is None else KEPT_PER_RANGE

    def _rechecking(self, run: TableRun) -> Rechecking:
        finds = all(can_look_up(side) for side in (run.plan.source, run.plan.target))
        return Rechecking(self._options.recheck_after, self._options.recheck_times if finds else 0, run.marks)

    def _take(self, run: TableRun, found: Localised) -> None:
        run.counts += found.counts
        run.rechecked += found.rechecked
        run.notes.update(dict.fromkeys(found.notes))
        room = None if self._options.limit is None else max(0, self._options.limit - len(run.differences))
        run.differences += found.differences[:room]


def _compared(suspect: Suspect, found: Localised) -> FinishedRange:
    return FinishedRange(
        suspect.ordinal,
        state=RangeState.COMPARED,
        source_digest=suspect.source,
        target_digest=suspect.target,
        rows=max(suspect.source.count, suspect.target.count),
        counts=found.counts,
        differences=found.differences,
    )
