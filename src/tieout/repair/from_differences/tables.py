"""What has to be known of a table to repair it: what is written from where, and how rows are read to be written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tieout.connectors.base import Scan, ScanColumn
from tieout.connectors.writing import Reference, Writer
from tieout.model.kinds import Kind, common_kind
from tieout.model.tables import Column, Table
from tieout.verify.plan import TablePlan
from tieout.verify.planning import PlannedTable


@dataclass(frozen=True, slots=True)
class Fill:
    """A column of the target that is written from the source, and its places in the two wide scans.

    `kind` is the form of the written text: the exact one where both sides have the same type, else that of the
    comparison. `compared` is the place of its pair; None: it was not compared, and is filled in new rows only.
    """

    column: Column
    kind: Kind
    source: int
    target: int
    compared: int | None


@dataclass(frozen=True)
class RepairTable:
    """A table that can be repaired. `name` is the source's, as differences have it.

    The wide scans begin with the compared columns, as planned; what is written, and on the target every column
    in its exact form (`exact`: its place), come after. The target's has no condition: a row outside it is seen.
    `references` are the foreign keys to the target's table.
    """

    name: str
    plan: TablePlan
    fills: tuple[Fill, ...]
    source: Scan
    target: Scan
    exact: Mapping[str, int]
    references: tuple[Reference, ...]

    @property
    def table(self) -> Table:
        return self.target.table

    @property
    def key(self) -> tuple[str, ...]:
        """The key's columns on the target."""
        return tuple(column.name for column in self.target.key_columns)

    @property
    def losing(self) -> tuple[Reference, ...]:
        """The foreign keys by which a DELETE would take rows of other tables with it."""
        return tuple(reference for reference in self.references if reference.loses)

    @property
    def computed(self) -> tuple[str, ...]:
        """Columns compared by the user's SQL on the target: what to write there is not known."""
        return tuple(c.name for c in self.plan.target.scan.columns if c.expression and not c.column.generated)


def repair_table(planned: PlannedTable, writer: Writer, *, same_engine: bool) -> RepairTable | str:
    """The table as it can be repaired, or the reason why it can't."""
    plan = planned.plan
    if plan is None:
        return planned.failure or "the table is only on one side"
    if not plan.key:
        return "it has no key, so one row can't be told from another like it"
    if any(side.scan.columns[place].expression for side in (plan.source, plan.target) for place in plan.key):
        return "its key is computed by an expression, so rows can't be looked up by it"
    if any(place in plan.tolerances for place in plan.key):
        return "its key has a tolerance, so a row of one side may be any of several of the other"
    return _Wide(plan, writer, same_engine).table()


class _Wide:
    """Widens the two scans of a plan, column by column."""

    def __init__(self, plan: TablePlan, writer: Writer, same_engine: bool) -> None:
        self._plan = plan
        self._writer = writer
        self._same_engine = same_engine
        self._source = list(plan.source.scan.columns)
        self._target = list(plan.target.scan.columns)

    def table(self) -> RepairTable:
        plan = self._plan
        columns = plan.target.scan.table.columns
        exact = {column.name: self._add(self._target, column, self._writer.exact(column)) for column in columns}
        compared = {column.name: place for place, column in enumerate(plan.target.scan.columns)}
        fills = []
        for column in columns:
            if not column.generated:
                fill = self._fill(column, compared.get(column.name), exact[column.name])
                fills += [fill] if fill else []
        return RepairTable(
            plan.name,
            plan,
            tuple(fills),
            replace(plan.source.scan, columns=tuple(self._source)),
            replace(plan.target.scan, columns=tuple(self._target), where=None),
            exact,
            tuple(self._writer.references(plan.target.scan.table)),
        )

    def _fill(self, column: Column, compared: int | None, exact: int) -> Fill | None:
        if compared is None:
            return self._uncompared(column, exact)
        left, right = self._plan.source.scan.columns[compared], self._plan.target.scan.columns[compared]
        if right.expression:
            return None
        if left.expression is None and self._same_type(left.column, column):
            kind = self._writer.exact(column)
            return Fill(column, kind, self._add(self._source, left.column, kind), exact, compared)
        return Fill(column, right.kind, compared, compared, compared)

    def _uncompared(self, column: Column, exact: int) -> Fill | None:
        left = _named(column.name, self._plan.source.scan.table.columns)
        if left is None:
            return None
        if self._same_type(left, column):
            kind = self._writer.exact(column)
            return Fill(column, kind, self._add(self._source, left, kind), exact, None)
        common = common_kind(left.type, column.type)
        if not isinstance(common, Kind):
            return None
        return Fill(
            column, common, self._add(self._source, left, common), self._add(self._target, column, common), None
        )

    def _same_type(self, left: Column, right: Column) -> bool:
        return self._same_engine and left.type.native == right.type.native

    @staticmethod
    def _add(columns: list[ScanColumn], column: Column, kind: Kind) -> int:
        columns.append(ScanColumn(column, kind))
        return len(columns) - 1


def _named(name: str, columns: Sequence[Column]) -> Column | None:
    found = [column for column in columns if column.name == name]
    folded = found or [column for column in columns if column.name.casefold() == name.casefold()]
    return folded[0] if len(folded) == 1 else None
