"""From a range that differs to the rows that do."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tieout.model.differences import Difference, DifferenceCounts
from tieout.model.keys import Key, KeyRange
from tieout.verify.compare import Comparison, Shape, compare_rows, selected
from tieout.verify.plan import Side, TablePlan
from tieout.verify.rows import look_up_rows, read_rows

LEAF_ROWS = 20_000
LEAF_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to give a row that differs, if its table is being written to.

    `marks` are the two sides' activity marks from before anything was read; None: it can't be told, so
    assume writes.
    """

    after: float
    times: int
    marks: tuple[str | None, str | None]


@dataclass(frozen=True, slots=True)
class Localised:
    """What a range's comparison found. `differences` may be fewer than `counts` says: the limit."""

    counts: DifferenceCounts
    differences: tuple[Difference, ...]
    source_rows: int
    target_rows: int
    rechecked: int = 0
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class CompareRange:
    """Cuts a range into leaves, passes over those whose digests agree, and compares the rows of the others."""

    plan: TablePlan
    keys: KeyRange
    larger: str
    limit: int | None
    patience: Patience

    def run(self) -> Iterator[Localised]:
        plan = self.plan
        found = Found(shape_of(plan), self.limit)
        for leaf in self._leaves():
            if self._agree(leaf, found):
                continue
            read_at = time.monotonic()
            source = read_rows(plan.source.reader, plan.source.scan, leaf)
            target = read_rows(plan.target.reader, plan.target.scan, leaf)
            found.rows(len(source), len(target))
            found.add(settle(plan, compare_rows(found.shape, source, target), self.patience, read_at, found))
        yield found.result()

    def _leaves(self) -> Iterator[KeyRange]:
        """One after the other, so that a leaf's end is known before its rows are read."""
        side = self.plan.source if self.larger == "source" else self.plan.target
        rows = leaf_rows(side)
        rest = self.keys
        while True:
            ends = side.reader.bounds(side.scan, rest, rows, 32) if side.scan.ordered_by else []
            for end in ends:
                yield KeyRange(rest.low, end)
                rest = KeyRange(end, rest.high)
            if len(ends) < 32:
                yield rest
                return

    def _agree(self, leaf: KeyRange, found: Found) -> bool:
        """Where the engines hash on their own side, a leaf costs less to digest than to read."""
        plan = self.plan
        if plan.hash is None:
            return False
        left = plan.source.reader.digest(plan.source.scan, leaf, plan.hash)
        right = plan.target.reader.digest(plan.target.scan, leaf, plan.hash)
        if left == right:
            found.rows(left.count, right.count)
        return left == right


class Found:
    """Differences as they come in, counted all and kept up to a limit."""

    def __init__(self, shape: Shape, limit: int | None) -> None:
        self.shape = shape
        self._limit = limit
        self._counts = DifferenceCounts()
        self._kept: list[Difference] = []
        self._source_rows = 0
        self._target_rows = 0
        self.rechecked = 0
        self._notes: dict[str, None] = {}

    def rows(self, source: int, target: int) -> None:
        self._source_rows += source
        self._target_rows += target

    def add(self, comparison: Comparison) -> None:
        self._counts += comparison.counts
        if comparison.ambiguous is not None:
            self.ambiguous(comparison.ambiguous)
        self._keep(comparison.differences())

    def add_all(self, differences: Sequence[Difference]) -> None:
        for difference in differences:
            self._counts += DifferenceCounts(**{difference.kind.value: difference.copies})
        self._keep(differences)

    def ambiguous(self, key: Key) -> None:
        """A key that is there twice on one side."""
        names = ", ".join(self.shape.columns[place] for place in self.shape.key)
        self._notes.setdefault(f"the key ({names}) is not unique; rows that share one were compared as a multiset")

    def _keep(self, differences: Iterable[Difference]) -> None:
        for difference in differences:
            if self._limit is not None and len(self._kept) >= self._limit:
                break
            self._kept.append(difference)

    def result(self) -> Localised:
        return Localised(
            self._counts, tuple(self._kept), self._source_rows, self._target_rows, self.rechecked, tuple(self._notes)
        )


def settle(plan: TablePlan, comparison: Comparison, patience: Patience, read_at: float, found: Found) -> Comparison:
    """What still differs after another look, if anything was written since the verification began."""
    keys = [key for pair in comparison.pairs if (key := comparison.key(pair)) is not None]
    if not keys or patience.times == 0 or not _written(plan, patience):
        return comparison
    found.add(selected(comparison, [pair for pair in comparison.pairs if comparison.key(pair) is None]))
    return _settled(plan, keys, patience, read_at, found)


def settle_keys(
    plan: TablePlan, found: Found, patience: Patience, read_at: float, suspects: Mapping[Key, Sequence[Difference]]
) -> None:
    """The same for differences that are not held as rows any more; `found` gets what remains."""
    if patience.times == 0 or not _written(plan, patience):
        for differences in suspects.values():
            found.add_all(differences)
    else:
        found.add(_settled(plan, list(suspects), patience, read_at, found))


def _settled(plan: TablePlan, keys: Sequence[Key], patience: Patience, read_at: float, found: Found) -> Comparison:
    for _ in range(patience.times):
        time.sleep(max(0.0, read_at + patience.after - time.monotonic()))
        read_at = time.monotonic()
        found.rechecked += len(keys)
        comparison = _look_again(plan, found.shape, keys)
        keys = [key for pair in comparison.pairs if (key := comparison.key(pair)) is not None]
        if not keys:
            break
    return comparison


def _look_again(plan: TablePlan, shape: Shape, keys: Sequence[Key]) -> Comparison:
    """Both sides of these keys, read anew."""
    source = look_up_rows(plan.source.reader, plan.source.scan, keys)
    target = look_up_rows(plan.target.reader, plan.target.scan, keys)
    return compare_rows(shape, source, target)


def _written(plan: TablePlan, patience: Patience) -> bool:
    now = (plan.source.reader.activity(), plan.target.reader.activity())
    return None in now or None in patience.marks or now != patience.marks


def shape_of(plan: TablePlan) -> Shape:
    return Shape(plan.name, plan.columns, plan.key, plan.tolerances)


def leaf_rows(side: Side) -> int:
    """Rows of a leaf: as many as fit in memory by the table's average row, within reason."""
    row_bytes = side.scan.table.average_row_bytes or 200
    return max(100, min(LEAF_ROWS, LEAF_BYTES // max(row_bytes, 1)))
