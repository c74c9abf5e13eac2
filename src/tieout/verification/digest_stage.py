"""The digest stage: digests the ranges of all tables, in waves of Spark jobs; and the count stage, which only counts
rows.

A wave is work for a few seconds. Its results are recorded before the next wave starts, so that a crash loses little.
While executors digest the ranges of one wave, they also find the keys that divide the next.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from tieout.meta import FinishedRange
from tieout.meta import Side as LaneSide
from tieout.model.digests import Digest
from tieout.model.keys import EVERYTHING, Key, KeyRange
from tieout.model.requests import VerifyOptions
from tieout.runtime.dispatch import SideSlots, deal
from tieout.runtime.ranges import next_chunk_rows, resumable, run_all, sampled_bounds
from tieout.spark.executor_work import Outcome, Work
from tieout.verification.frames import DigestFrame, count_work, run_mixed
from tieout.verification.plan import Side
from tieout.verification.table_state import Lane, Ledger, TableRun
from tieout.verification.transformed import Reading
from tieout.verification.work import BucketDigests, DigestBuckets, DigestRange, RangeDigest, WalkKeys

RANGES_PER_SLOT = 8
MOST_RANGES = 256
LIGHTEST = RANGES_PER_SLOT / MOST_RANGES


@dataclass(frozen=True)
class _Unit:
    """One range of one lane."""

    run: TableRun
    lane: Lane
    ordinal: int
    keys: KeyRange


@dataclass(frozen=True)
class _Task:
    """The work for one range on one side."""

    unit: _Unit
    side: LaneSide
    work: Work


@dataclass(frozen=True)
class _Walk:
    """The work that plans the next ranges of a lane."""

    run: TableRun
    lane: Lane
    work: WalkKeys


@dataclass(frozen=True)
class _Wave:
    """Ranges to digest now, and lanes whose next ranges are to be planned meanwhile."""

    units: Sequence[_Unit]
    walks: Sequence[tuple[TableRun, Lane]]


_Dealt = Sequence[_Task]


class DigestStage:
    def __init__(
        self, spark: SparkSession, slots: SideSlots, options: VerifyOptions, ledger: Ledger, between: Callable[[], None]
    ) -> None:
        self._spark = spark
        self._slots = slots
        self._options = options
        self._ledger = ledger
        self._between = between

    def run(self, runs: Sequence[TableRun]) -> None:
        """Digests every range of every table, and finds those that differ. Calls `between` after each wave."""
        for run in runs:
            for lane in run.lanes:
                self._plan_without_walking(run, lane)
        run_all(resumable(self._waves(runs), self._do, self._ledger.record))

    def _waves(self, runs: Sequence[TableRun]) -> Iterator[_Wave]:
        while True:
            units = self._next_units(runs)
            walks = [(run, lane) for run in runs for lane in run.lanes if lane.rest is not None and not lane.todo]
            if not units and not walks:
                return
            yield _Wave(units, walks)
            self._between()

    def _plan_without_walking(self, run: TableRun, lane: Lane) -> None:
        """Plans a small or indivisible table as one range, and divides a sampled table by its sample."""
        side = run.walked(lane)
        table = side.scan.table
        estimate = table.estimated_rows
        if lane.rest != EVERYTHING:
            return
        if not side.scan.ordered_by or (estimate is not None and estimate * 2 < lane.chunk_rows):
            self._plan(run, lane, [], 1)
        elif (
            estimate
            and tuple(column.name for column in side.scan.order_columns) == table.key
            and estimate <= lane.chunk_rows * (len(table.sampled_keys) - 1)
        ):
            bounds = sampled_bounds(table.sampled_keys, estimate, lane.chunk_rows)
            self._plan(run, lane, bounds, len(bounds) + 1)

    def _plan(self, run: TableRun, lane: Lane, bounds: list[Key], asked: int) -> None:
        first = lane.planned
        self._ledger.plan(run, lane, first, lane.cut(bounds, asked))

    @property
    def _ranges_per_wave(self) -> int:
        return RANGES_PER_SLOT * min(self._slots.source, self._slots.target)

    def _next_units(self, runs: Sequence[TableRun]) -> list[_Unit]:
        """Ranges of any tables, enough for a few seconds of work."""
        units: list[_Unit] = []
        weight = 0.0
        most = self._ranges_per_wave
        if sum(len(lane.todo) for run in runs for lane in run.lanes) < most * 1.5:
            most *= 2  # the rest would be too little for a Spark job of its own
        for run in runs:
            for lane in run.lanes:
                while lane.todo and weight < most and len(units) < MOST_RANGES:
                    ordinal, keys = lane.todo.popleft()
                    units.append(_Unit(run, lane, ordinal, keys))
                    rows = run.walked(lane).scan.table.estimated_rows
                    whole = keys == EVERYTHING and rows is not None
                    weight += min(1.0, max(0.02, rows / lane.chunk_rows)) if whole and rows is not None else lane.weight
        return units

    def _do(self, wave: _Wave) -> Iterator[tuple[TableRun, FinishedRange]]:
        parts = self._dealt(self._tasks(wave.units, LaneSide.SOURCE), self._tasks(wave.units, LaneSide.TARGET))
        walking = deal([_Walk(run, lane, self._walk(run, lane)) for run, lane in wave.walks], self._slots.source)
        everything: list[Sequence[_Task] | Sequence[_Walk]] = [*parts, *walking]
        outcomes = run_mixed(self._spark, [[task.work for task in part] for part in everything])
        yield from self._digested(parts, outcomes)
        for part, results in zip(walking, outcomes[len(parts) :], strict=True):
            for walk, outcome in zip(part, results, strict=True):
                self._walked(walk.run, walk.lane, walk.work.most, outcome)

    def _dealt(self, source: Sequence[_Task], target: Sequence[_Task]) -> list[_Dealt]:
        """Gives each task ranges of both sides if possible: otherwise the faster side waits for the slower."""
        if not self._slots.shared or len(source) != len(target):
            return [*deal(source, self._slots.source), *deal(target, self._slots.target)]
        turns = [pair if turn % 2 == 0 else pair[::-1] for turn, pair in enumerate(zip(source, target, strict=True))]
        return deal([task for pair in turns for task in pair], self._slots.source + self._slots.target)

    def _tasks(self, wave: Sequence[_Unit], side: LaneSide) -> list[_Task]:
        """The work of a wave on one side."""
        units = [unit for unit in wave if unit.lane.side in (side, LaneSide.BOTH)]
        plans = [unit.run.plan.source if side is LaneSide.SOURCE else unit.run.plan.target for unit in units]
        return [_Task(unit, side, self._work(unit, plan)) for unit, plan in zip(units, plans, strict=True)]

    def _walk(self, run: TableRun, lane: Lane) -> WalkKeys:
        return WalkKeys(run.walked(lane), lane.rest or EVERYTHING, lane.chunk_rows, self._asked(lane))

    def _asked(self, lane: Lane) -> int:
        """How many ranges of a lane make a wave."""
        return min(MOST_RANGES, round(self._ranges_per_wave / lane.weight))

    def _work(self, unit: _Unit, side: Side) -> Work:
        rate = self._options.max_rows_per_second
        pace = rate / max(self._slots.source, self._slots.target) if rate else None
        if unit.lane.side is LaneSide.BOTH:
            return DigestRange(side, unit.keys, unit.run.plan.hash, pace, unit.run.plan.as_sent)
        if side.is_frame:
            is_source = unit.lane.side is LaneSide.SOURCE
            how = Reading(self._slots.source if is_source else self._slots.target, self._options.chunk_rows, rate)
            return DigestFrame(unit.run.plan, is_source, how)
        return DigestBuckets(side, unit.keys, unit.run.plan.buckets, pace)

    def _walked(self, run: TableRun, lane: Lane, asked: int, outcome: Outcome) -> None:
        if outcome.error is not None:
            run.fail(outcome.error)
        elif run.failure is None:
            self._plan(run, lane, outcome.only(), asked)

    def _digested(
        self, parts: Sequence[_Dealt], outcomes: Sequence[Sequence[Outcome]]
    ) -> Iterator[tuple[TableRun, FinishedRange]]:
        """Adds a wave's digests to the state of their tables."""
        units: dict[int, _Unit] = {}
        found: dict[int, dict[LaneSide, RangeDigest | BucketDigests]] = defaultdict(dict)
        for part, results in zip(parts, outcomes, strict=False):
            for task, outcome in zip(part, results, strict=True):
                if outcome.error is not None:
                    task.unit.run.fail(outcome.error)
                    continue
                units[id(task.unit)] = task.unit
                found[id(task.unit)][task.side] = outcome.only()
        for number, unit in units.items():
            finished = self._finished(unit, found[number])
            if finished is not None:
                yield unit.run, finished

    def _finished(self, unit: _Unit, digests: dict[LaneSide, RangeDigest | BucketDigests]) -> FinishedRange | None:
        seconds = max(each.seconds for each in digests.values())
        self._adapt(unit.lane, max(each.digest.count for each in digests.values()), seconds)
        if unit.lane.side is not LaneSide.BOTH:
            only = digests[unit.lane.side]
            assert isinstance(only, BucketDigests)
            return unit.run.take_buckets(unit.ordinal, unit.lane.side, only.digest, only.buckets, seconds)
        if len(digests) < 2:
            return None  # the other side failed, and with it the table
        left, right = digests[LaneSide.SOURCE].digest, digests[LaneSide.TARGET].digest
        return unit.run.take_digests(unit.ordinal, unit.keys, left, right, seconds)

    def _adapt(self, lane: Lane, rows: int, seconds: float) -> None:
        """Adapts the size of the next ranges to the requested time."""
        if rows * 4 < lane.chunk_rows:
            return
        if self._options.chunk_rows is not None:
            took = seconds / self._options.chunk_seconds
            lane.weight = min(1.0, max(LIGHTEST, (lane.weight + took) / 2))
            return
        lane.chunk_rows = next_chunk_rows(lane.chunk_rows, rows, seconds, self._options.chunk_seconds)


class CountStage:
    def __init__(self, spark: SparkSession, slots: SideSlots, options: VerifyOptions) -> None:
        self._spark = spark
        self._slots = slots
        self._options = options

    def run(self, runs: Sequence[TableRun]) -> None:
        """Counts the rows of both sides of each table."""
        left, right = (
            Reading(tasks, rate=self._options.max_rows_per_second) for tasks in (self._slots.source, self._slots.target)
        )
        source = deal([(run, count_work(run.plan.source, left)) for run in runs], left.tasks)
        target = deal([(run, count_work(run.plan.target, right)) for run in runs], right.tasks)
        parts = [*source, *target]
        outcomes = run_mixed(self._spark, [[work for _, work in part] for part in parts])
        for number, (part, results) in enumerate(zip(parts, outcomes, strict=True)):
            for (run, _), outcome in zip(part, results, strict=True):
                if outcome.error is not None:
                    run.fail(outcome.error)
                elif number < len(source):
                    run.source = Digest(outcome.only())
                else:
                    run.target = Digest(outcome.only())
