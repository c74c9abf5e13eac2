"""From a range that differs to the rows that do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tieout.errors import ReadError
from tieout.model.keys import KeyRange
from tieout.runtime.ranges import ROOM
from tieout.verification.compare import Shape, compare_rows
from tieout.verification.found import Found, Localised
from tieout.verification.plan import Side, TablePlan
from tieout.verification.rows import read_rows
from tieout.verification.settle import Patience, Settler, written
from tieout.verification.work import DigestRange

LEAF_ROWS = 20_000


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
        settler = Settler(plan, self.patience, found)
        for leaf in self._leaves():
            if self._agree(leaf, found):
                continue
            source = read_rows(plan.source.reader, plan.source.scan, leaf)
            target = read_rows(plan.target.reader, plan.target.scan, leaf)
            found.rows(len(source), len(target))
            settler.add(compare_rows(found.shape, source, target))
        settler.finish()
        result = found.result()
        if not result.counts and self._must_differ(result):
            raise ReadError(
                f"{plan.name}: the digests of {self.keys} differ and its rows do not", "this is a bug: please report it"
            )
        yield result

    def _must_differ(self, result: Localised) -> bool:
        """Whether digests that differ prove that rows do: of one canonical form, with nothing written since."""
        plan = self.plan
        exact = plan.hash is None and not plan.as_sent and not plan.tolerances
        return exact and not result.rechecked and not written(plan, self.patience)

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
        """Where rows need not be decoded for it, a leaf costs less to digest than to read."""
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
    """Rows of a leaf: as many as fit in memory by the table's average row, within reason."""
    row_bytes = side.scan.table.average_row_bytes or 200
    return max(1, min(LEAF_ROWS, ROOM // max(row_bytes, 1)))
