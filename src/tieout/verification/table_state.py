"""The state of one table while it is verified."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

from tieout.canonical.bucket_digests import add_buckets, unpack_buckets
from tieout.errors import TieoutError
from tieout.meta import FinishedRange, RangeState
from tieout.meta import Side as LaneSide
from tieout.model.defaults import FIRST_CHUNK_ROWS
from tieout.model.differences import Difference, DifferenceCounts
from tieout.model.digests import EMPTY, Digest
from tieout.model.keys import EVERYTHING, Key, KeyRange
from tieout.model.redaction import without_values
from tieout.verification.table_plan import Side, TablePlan


@dataclass
class Lane:
    """The ranges of a table, or of one side of it, in order: planned a few at a time, as they are reached.

    `rest` is what no range covers yet; None: they reach to the end. `weight` is how much of the time that a range
    should take it took lately; ranges that can't grow are light.
    """

    side: LaneSide
    chunk_rows: int
    rest: KeyRange | None = EVERYTHING
    planned: int = 0
    weight: float = 1.0
    todo: deque[tuple[int, KeyRange]] = field(default_factory=deque)
    ranges: list[KeyRange] = field(default_factory=list)

    def cut(self, bounds: list[Key], asked: int) -> list[KeyRange]:
        """Takes ranges off the rest, cut at `bounds`; fewer bounds than asked for means the end was reached."""
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
        """The side with more rows: the one to cut into leaves."""
        return "target" if self.target.count > self.source.count else "source"


@dataclass
class TableRun:
    """What is known of a table so far. `failure` ends its verification."""

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
        """Both sides of a range that means the same rows on both."""
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
        """One side's range, by bucket."""
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
        """Nothing more is read of the table. `resumable`: what stopped it may pass."""
        if self.failure is None:
            said = str(error)
            self.failure = said if self.plan.redaction is None else without_values(said)
            self.resumable = error.transient
        for lane in self.lanes:
            lane.todo.clear()
            lane.rest = None

    def walked(self, lane: Lane) -> Side:
        """The side whose index is walked to cut a lane."""
        return self.plan.target if lane.side is LaneSide.TARGET else self.plan.source

    @property
    def differing_buckets(self) -> set[int]:
        buckets = self.source_buckets.keys() | self.target_buckets.keys()
        return {b for b in buckets if self.source_buckets.get(b, EMPTY) != self.target_buckets.get(b, EMPTY)}


def start_run(ordinal: int, plan: TablePlan, chunk_rows: int | None) -> TableRun:
    rows = chunk_rows or FIRST_CHUNK_ROWS
    sides = [LaneSide.BOTH] if plan.aligned else [LaneSide.SOURCE, LaneSide.TARGET]
    return TableRun(ordinal, plan, [Lane(side, rows) for side in sides])
