"""The state of one table while it is verified, and how the meta store records it for --resume."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from tieout.canonical.bucket_digests import add_buckets, unpack_buckets
from tieout.errors import TieoutError
from tieout.meta import FinishedRange, MetaStore, RangeState, StoredRange
from tieout.meta import Side as LaneSide
from tieout.model.defaults import FIRST_CHUNK_ROWS
from tieout.model.differences import Difference, DifferenceCounts
from tieout.model.digests import EMPTY, Digest
from tieout.model.keys import EVERYTHING, Key, KeyRange
from tieout.model.redaction import without_values
from tieout.verification.plan import Side, TablePlan


@dataclass
class Lane:
    """The ranges of a table, or of one side of it, in order: planned a few at a time, as the work reaches them.

    `rest` is what no range covers yet; None: the ranges reach the end. `weight` is the time that a range took lately,
    as a fraction of the time it should take; ranges that can't grow are light.
    """

    side: LaneSide
    chunk_rows: int
    rest: KeyRange | None = EVERYTHING
    planned: int = 0
    weight: float = 1.0
    todo: deque[tuple[int, KeyRange]] = field(default_factory=deque)
    ranges: list[KeyRange] = field(default_factory=list)

    def cut(self, bounds: list[Key], asked: int) -> list[KeyRange]:
        """Divides the rest at `bounds` into ranges; fewer bounds than `asked` means that the end was reached."""
        assert self.rest is not None
        low, high = self.rest.low, self.rest.high
        ranges = []
        for bound in bounds:
            ranges.append(KeyRange(low, bound))
            low = bound
        self.rest = KeyRange(low, high)
        if len(bounds) < asked:
            ranges.append(self.rest)
            self.rest = None
        for keys in ranges:
            self.todo.append((self.planned, keys))
            self.planned += 1
        self.ranges += ranges
        return ranges


@dataclass(frozen=True, slots=True)
class Suspect:
    """A range whose digests differ."""

    ordinal: int
    keys: KeyRange
    source: Digest
    target: Digest

    @property
    def larger(self) -> str:
        """The side with more rows, which is divided into smaller ranges."""
        return "target" if self.target.count > self.source.count else "source"


@dataclass
class TableRun:
    """What is known about a table so far. `failure` ends its verification."""

    ordinal: int
    plan: TablePlan
    lanes: list[Lane]
    source: Digest = EMPTY
    target: Digest = EMPTY
    ranges: int = 0
    suspects: list[Suspect] = field(default_factory=list)
    source_buckets: dict[int, Digest] = field(default_factory=dict)
    target_buckets: dict[int, Digest] = field(default_factory=dict)
    counts: DifferenceCounts = DifferenceCounts()
    differences: list[Difference] = field(default_factory=list)
    buckets_compared: bool = False
    failure: str | None = None
    resumable: bool = False
    seconds: float = 0.0
    rechecked: int = 0
    marks: tuple[str | None, str | None] = (None, None)
    notes: dict[str, None] = field(default_factory=dict)

    def take_digests(
        self, ordinal: int, keys: KeyRange, source: Digest, target: Digest, seconds: float
    ) -> FinishedRange:
        """Adds the digests of both sides of a range that means the same rows on both."""
        self._digested(seconds)
        self.source += source
        self.target += target
        state = RangeState.DONE
        if source != target:
            state = RangeState.SUSPECT
            self.suspects.append(Suspect(ordinal, keys, source, target))
        rows = max(source.count, target.count)
        return FinishedRange(ordinal, LaneSide.BOTH, state, source, target, rows=rows, seconds=seconds)

    def take_buckets(self, ordinal: int, side: LaneSide, total: Digest, packed: bytes, seconds: float) -> FinishedRange:
        """Adds one side's digests of a range, by bucket."""
        self._digested(seconds)
        record = FinishedRange(ordinal, side, buckets=packed, rows=total.count, seconds=seconds)
        if side is LaneSide.SOURCE:
            self.source += total
            add_buckets(self.source_buckets, unpack_buckets(packed))
            return replace(record, source_digest=total)
        self.target += total
        add_buckets(self.target_buckets, unpack_buckets(packed))
        return replace(record, target_digest=total)

    def _digested(self, seconds: float) -> None:
        self.ranges += 1
        self.seconds += seconds

    def fail(self, error: TieoutError) -> None:
        """Stops reading the table. `resumable`: the cause may go away."""
        if self.failure is None:
            said = str(error)
            self.failure = said if self.plan.redaction is None else without_values(said)
            self.resumable = error.transient
        for lane in self.lanes:
            lane.todo.clear()
            lane.rest = None

    def walked(self, lane: Lane) -> Side:
        """The side whose keys divide a lane into ranges."""
        return self.plan.target if lane.side is LaneSide.TARGET else self.plan.source

    @property
    def differing_buckets(self) -> set[int]:
        buckets = self.source_buckets.keys() | self.target_buckets.keys()
        return {b for b in buckets if self.source_buckets.get(b, EMPTY) != self.target_buckets.get(b, EMPTY)}


def start_run(ordinal: int, plan: TablePlan, chunk_rows: int | None) -> TableRun:
    rows = chunk_rows or FIRST_CHUNK_ROWS
    sides = [LaneSide.BOTH] if plan.aligned else [LaneSide.SOURCE, LaneSide.TARGET]
    return TableRun(ordinal, plan, [Lane(side, rows) for side in sides])


class Ledger:
    """What a verification job records in the meta store as it goes. Every method is one transaction for each table."""

    def __init__(self, store: MetaStore, job_id: str) -> None:
        self._store = store
        self._job = job_id

    def plan(self, run: TableRun, lane: Lane, first: int, keys: Sequence[KeyRange]) -> None:
        self._store.ranges.extend(self._job, run.ordinal, keys, side=lane.side, first=first)

    def record(self, finished: Sequence[tuple[TableRun, FinishedRange]]) -> None:
        """Records finished ranges: those of one table in one transaction."""
        by_table: dict[int, list[FinishedRange]] = defaultdict(list)
        for run, each in finished:
            by_table[run.ordinal].append(each)
        for ordinal, ranges in by_table.items():
            self._store.ranges.record(self._job, ordinal, ranges)

    def begin_buckets(self, run: TableRun) -> None:
        """Starts a table's buckets: forgets what an earlier attempt left."""
        self._store.ranges.plan(self._job, run.ordinal, [EVERYTHING])
        self._store.differences.clear(self._job, run.ordinal, 0)

    def add_differences(self, run: TableRun, differences: Sequence[Difference]) -> None:
        self._store.differences.append(self._job, run.ordinal, 0, differences)

    def record_buckets(self, runs: Sequence[TableRun]) -> None:
        """Records tables whose buckets were all compared, after their differences were added."""
        for run in runs:
            compared = FinishedRange(0, state=RangeState.COMPARED, counts=run.counts, differences=None)
            self._store.ranges.record(self._job, run.ordinal, [compared])

    def restore(self, run: TableRun, limit: int | None) -> None:
        """Restores the state that an earlier process recorded: finished ranges are not read again."""
        for lane in run.lanes:
            for stored in self._store.ranges.load(self._job, run.ordinal, side=lane.side):
                lane.planned = stored.ordinal + 1
                lane.ranges.append(stored.keys)
                lane.rest = None if stored.keys.high is None else KeyRange(stored.keys.high, None)
                _restore_range(run, lane, stored)
        if not run.plan.aligned:
            for stored in self._store.ranges.load(self._job, run.ordinal, side=LaneSide.BOTH, buckets=False):
                if stored.state is RangeState.COMPARED and stored.counts is not None:
                    run.counts, run.buckets_compared = stored.counts, True
        if run.plan.aligned or run.buckets_compared:
            run.differences += islice(self._store.differences.iterate(self._job, run.ordinal), limit)


def _restore_range(run: TableRun, lane: Lane, stored: StoredRange) -> None:
    if stored.state is RangeState.PLANNED:
        lane.todo.append((stored.ordinal, stored.keys))
        return
    run.ranges += 1
    source, target = stored.source_digest or EMPTY, stored.target_digest or EMPTY
    run.source += source
    run.target += target
    if stored.state is RangeState.SUSPECT:
        run.suspects.append(Suspect(stored.ordinal, stored.keys, source, target))
    elif stored.counts is not None:
        run.counts += stored.counts
    if stored.buckets is not None:
        into = run.source_buckets if lane.side is LaneSide.SOURCE else run.target_buckets
        add_buckets(into, unpack_buckets(stored.buckets))
