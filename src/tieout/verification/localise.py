"""Finds the rows that differ in a range whose digests differ.

All differences are counted, and listed up to a limit. Rows that differ while their table is written to are rechecked
before they count.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from tieout.errors import ReadError
from tieout.model.differences import Difference, DifferenceCounts
from tieout.model.keys import Key, KeyRange
from tieout.model.truncated import LONGEST_KEPT, SHORTEST_KEPT
from tieout.runtime.ranges import ROOM, Portions
from tieout.runtime.recheck import RecheckPolicy, recheck
from tieout.verification.compare import Comparison, Shape, compare_rows, selected
from tieout.verification.plan import Side, TablePlan
from tieout.verification.rows import LOOKUP, look_up_rows, read_rows
from tieout.verification.work import DigestRange


@dataclass(frozen=True, slots=True)
class Localised:
    """What the comparison of a range found. The limit may make `differences` fewer than `counts` says."""

    counts: DifferenceCounts
    differences: tuple[Difference, ...]
    source_rows: int
    target_rows: int
    rechecked: int = 0
    notes: tuple[str, ...] = field(default=())


KEPT_BYTES = 16 << 20
"""Bytes of values that one range or bucket sends to the driver. Beyond that, values are truncated."""


def size_of(difference: Difference) -> int:
    values = [*difference.key.values(), *(v for p in difference.columns.values() for v in (p.source, p.target))]
    return sum(len(value) for value in values if value is not None)


class Found:
    """Collects differences: counts all of them and lists them up to a limit."""

    def __init__(self, shape: Shape, limit: int | None) -> None:
        self.shape = shape
        self._limit = limit
        self._counts = DifferenceCounts()
        self._kept: list[Difference] = []
        self._bytes = 0
        self._source_rows = 0
        self._target_rows = 0
        self.rechecked = 0
        self._notes: dict[str, None] = {}

    def rows(self, source: int, target: int) -> None:
        self._source_rows += source
        self._target_rows += target

    def add(self, comparison: Comparison) -> None:
        self._counts += comparison.counts
        if comparison.ambiguous:
            self.ambiguous()
        for pair in comparison.pairs:
            if not self._keep(comparison.difference(pair, self.longest)):
                break

    def add_all(self, differences: Sequence[Difference]) -> None:
        for difference in differences:
            self._counts += DifferenceCounts(**{difference.kind.value: difference.copies})
        for difference in differences:
            if not self._keep(difference):
                break

    def take(self, other: Localised) -> None:
        """Adds what another comparison of the table found, whose differences are as reports may list them."""
        self._counts += other.counts
        for words in other.notes:
            self.note(words)
        room = None if self._limit is None else max(0, self._limit - len(self._kept))
        self._kept += other.differences[:room]

    @property
    def longest(self) -> int:
        """How many bytes of a value the next difference may hold."""
        return LONGEST_KEPT if self._bytes < KEPT_BYTES else SHORTEST_KEPT

    def ambiguous(self) -> None:
        """Notes that one side has a key twice."""
        names = ", ".join(self.shape.columns[place] for place in self.shape.key)
        self._notes.setdefault(f"the key ({names}) is not unique; rows that share a key were compared as a multiset")

    def note(self, words: str) -> None:
        self._notes.setdefault(words)

    def _keep(self, difference: Difference) -> bool:
        """Lists a difference, and returns whether the limit allowed it."""
        if self._limit is not None and len(self._kept) >= self._limit:
            return False
        difference = self.shape.shown(difference)
        self._kept.append(difference)
        self._bytes += size_of(difference)
        return True

    def result(self) -> Localised:
        return Localised(
            self._counts, tuple(self._kept), self._source_rows, self._target_rows, self.rechecked, tuple(self._notes)
        )


MOST_SUSPECTS = 20_000
"""Keys that wait for a recheck at the same time."""


@dataclass(frozen=True, slots=True)
class Rechecking:
    """How often to recheck a row that differs, and after how many seconds, if its table is being written to.

    `marks` are the two sides' activity marks from before anything was read; None: unknown, so assume writes.
    """

    after: float
    times: int
    marks: tuple[str | None, str | None]


class RowRecheck:
    """Adds differences to `found`: at once if nothing was written since the verification started, else after a recheck
    of their rows. Rows wait together, not one by one.
    """

    def __init__(self, plan: TablePlan, rechecking: Rechecking, found: Found) -> None:
        self._plan = plan
        self._rechecking = rechecking
        self._found = found
        self._suspects: dict[bytes, Key] = {}

    def add(self, comparison: Comparison) -> None:
        if not comparison.pairs or not self._must_wait():
            self._found.add(comparison)
            return
        keys = [(pair, *comparison.key(pair)) for pair in comparison.pairs]
        # A row without a key, or whose key no literal matches exactly, can't be looked up.
        self._found.add(selected(comparison, [pair for pair, _, key in keys if key is None]))
        self._wait_for({hashed: key for _, hashed, key in keys if key is not None})

    def add_differences(self, keys: Mapping[bytes, Key], differences: Sequence[Difference]) -> None:
        """The same for differences whose rows are no longer in memory; `keys` are all their keys, by their hash."""
        if not differences or not self._must_wait():
            self._found.add_all(differences)
        else:
            self._wait_for(keys)

    def finish(self) -> None:
        """Rechecks all rows that wait. Call it after the last difference."""
        suspects, self._suspects = self._suspects, {}
        # A row that agrees once is equal: only a row that differs every time counts.
        policy = RecheckPolicy(self._rechecking.after, self._rechecking.times, agreeing=self._rechecking.times + 1)
        left = count(policy.looks - 1, -1)

        def look_again(keys: Mapping[bytes, Key]) -> dict[bytes, Key]:
            is_last = not next(left)
            self._found.rechecked += len(keys)
            differing: dict[bytes, Key] = {}
            for comparison in self._look_again(keys):
                differing |= {hashed: keys[hashed] for pair in comparison.pairs for hashed, _ in [comparison.key(pair)]}
                if is_last:
                    self._found.add(comparison)
            return differing

        recheck(suspects, look_again, policy, time.sleep)

    def _must_wait(self) -> bool:
        return self._rechecking.times > 0 and written(self._plan, self._rechecking)

    def _wait_for(self, keys: Mapping[bytes, Key]) -> None:
        self._suspects |= keys
        if len(self._suspects) >= MOST_SUSPECTS:
            self.finish()

    def _look_again(self, keys: Mapping[bytes, Key]) -> Iterator[Comparison]:
        """Reads both sides of these keys again: as many at once as fit into memory, but all of them if a side must be
        scanned to its end for it.
        """
        sides = self._plan.source, self._plan.target
        portions = Portions(LOOKUP)
        finds = all(side.reader.finds(side.scan) for side in sides)
        for some in map(dict, portions.of(iter(keys.items())) if finds else [keys]):
            asked = list(some.values())
            source, target = (look_up_rows(side.reader, side.scan, asked, list(some)) for side in sides)
            yield compare_rows(self._found.shape, source, target)
            if finds:
                portions.took(max(source.size, target.size))


def written(plan: TablePlan, rechecking: Rechecking) -> bool:
    """Whether either side may have been written to since the verification started."""
    now = (plan.source.reader.activity(), plan.target.reader.activity())
    return None in now or None in rechecking.marks or now != rechecking.marks


LEAF_ROWS = 20_000


@dataclass(frozen=True)
class CompareRange:
    """Divides a range into smaller ones, skips those whose digests agree, and compares the rows of the others."""

    plan: TablePlan
    keys: KeyRange
    larger: str
    limit: int | None
    rechecking: Rechecking

    def run(self) -> Iterator[Localised]:
        plan = self.plan
        found = Found(shape_of(plan), self.limit)
        rechecks = RowRecheck(plan, self.rechecking, found)
        for leaf in self._leaves():
            if self._agree(leaf, found):
                continue
            source = read_rows(plan.source.reader, plan.source.scan, leaf)
            target = read_rows(plan.target.reader, plan.target.scan, leaf)
            found.rows(len(source), len(target))
            rechecks.add(compare_rows(found.shape, source, target))
        rechecks.finish()
        result = found.result()
        if not result.counts and self._must_differ(result):
            raise ReadError(
                f"{plan.name}: the digests of {self.keys} differ, but its rows do not",
                "please report this bug",
            )
        yield result

    def _must_differ(self, result: Localised) -> bool:
        """Whether different digests prove different rows: in canonical form, and nothing was written since."""
        plan = self.plan
        exact = plan.hash is None and not plan.as_sent and not plan.tolerances
        return exact and not result.rechecked and not written(plan, self.rechecking)

    def _leaves(self) -> Iterator[KeyRange]:
        """Small ranges one after another, so that the end of each is known before its rows are read."""
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
        """Whether the digests of a small range agree, where a digest costs less than reading its rows."""
        plan = self.plan
        if plan.hash is None and not plan.as_sent:
            return False
        left, right = (
            next(DigestRange(side, leaf, plan.hash, as_sent=plan.as_sent).run()).digest
            for side in (plan.source, plan.target)
        )
        if left == right:
            found.rows(left.count, right.count)
        return left == right


def shape_of(plan: TablePlan) -> Shape:
    return Shape(plan.name, plan.columns, plan.key, plan.tolerances, plan.redaction)


def leaf_rows(side: Side) -> int:
    """Rows of a small range: as many as fit into memory by the table's average row, up to LEAF_ROWS."""
    row_bytes = side.scan.table.average_row_bytes or 200
    return max(1, min(LEAF_ROWS, ROOM // max(row_bytes, 1)))
