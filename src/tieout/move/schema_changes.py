"""Tables whose definition changes while a mover follows them.

Decides what a statement in the log means for its table. Added columns are added to the target, too, unless it has them
with the same values; columns that can hold more are widened there. Any other change stops that table, while the others
go on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from tieout.connectors.protocols.change_log import Retyped
from tieout.connectors.protocols.endpoint import Endpoint
from tieout.connectors.protocols.move import Source, Target, TypeChanges, clashing_names
from tieout.connectors.sql.ddl import TABLE, DefaultKind, Structure, plain_default
from tieout.errors import TieoutError
from tieout.model.moves import SCHEMA_NAME, TABLE_NAME, Fence, Transfer
from tieout.model.positions import Position
from tieout.model.row_changes import Begin, Redefined
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import LogicalType, TypeName
from tieout.model.widening import is_same
from tieout.move.snapshot_overlap import SnapshotOverlap
from tieout.move.widened_columns import Incompatible, Widener, judged
from tieout.tasks.routing import OURS, column_misfit
from tieout.tasks.transforms import names_source


@dataclass(frozen=True, slots=True)
class TableProblem:
    """A table whose changes can't be staged as planned, and why.

    `columns`: those that it has in the log now, if they differ from the plan, and `defaults` the values that rows got
    in new ones, according to the log. `stated`: how a statement at `at` defined columns that are new, or hold more than
    before. `before` is the last position up to which nothing was wrong; `exact`: everything before it can be applied.
    """

    table: TableName
    reason: str
    before: Position
    columns: tuple[str, ...] | None = None
    defaults: Mapping[str, str | None] | None = None
    exact: bool = False
    stated: tuple[Column, ...] = ()
    at: Position | None = None


class TableProblemFound(Exception):
    """Ends a batch: the target merges nothing of it."""

    def __init__(self, problem: TableProblem) -> None:
        super().__init__(problem.reason)
        self.problem = problem


class ColumnsChanged(Exception):
    """The log has other columns than planned, or columns of another type (`stated`, by a statement at `at`)."""

    def __init__(
        self,
        reason: str,
        columns: tuple[str, ...],
        defaults: Mapping[str, str | None] | None = None,
        stated: tuple[Column, ...] = (),
        at: Position | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.columns = columns
        self.defaults = defaults
        self.stated = stated
        self.at = at

    def problem(self, table: TableName, before: Position) -> TableProblem:
        return TableProblem(
            table, self.reason, before, self.columns, self.defaults, exact=True, stated=self.stated, at=self.at
        )


class TableChanged(Exception):
    """The table's definition was changed in a way that its rows in the log do not show."""


def follow(change: Redefined, transaction: Begin, transfer: Transfer, overlap: SnapshotOverlap) -> None:
    """TableChanged if its rows can't be followed after the statement, ColumnsChanged if it got columns to follow."""
    name = transfer.source.name
    if change.reason is not None and not overlap.all_hold(transaction):
        # If all chunks contain it, it was over before the first row was read.
        raise TableChanged(f"{name}: {change.reason}")
    read = {column.name.lower(): column.name for column in transfer.reads.source_columns}
    for gone in change.dropped:
        if gone.lower() in read:
            raise TableChanged(f"{name} no longer has a column {read[gone.lower()]}")
    changed = [read[each.lower()] for each in change.changed if each.lower() in read]
    for column in changed:
        # Also for changes before the copy: the table was planned before its log began, perhaps with another type.
        reason = f"{name}: its column {column} was changed, perhaps with its values"
        if overlap.may_be_later_than(transaction):
            raise TableChanged(f"{reason}, while it was copied")
        if not _is_followed(transaction, transfer) and (why := judged(change, column, transfer)) is not None:
            raise TableChanged(f"{reason}: {why}")
    if _lost_key(change, transfer):
        raise TableChanged(f"{name}: the key that identifies its rows was dropped or renamed")
    _follow_columns(change, transaction, transfer, overlap, [] if _is_followed(transaction, transfer) else changed)


def _is_followed(transaction: Begin, transfer: Transfer) -> bool:
    at = transfer.widened_at
    return at is not None and at.is_same_log(transaction.position) and at.place == transaction.position.place


def _follow_columns(
    change: Redefined, transaction: Begin, transfer: Transfer, overlap: SnapshotOverlap, changed: list[str]
) -> None:
    """ColumnsChanged if the table got columns, or if these columns of it were changed."""
    known = {column.lower() for column in transfer.source.column_names}
    added = {column: default for column, default in change.added if column.lower() not in known}
    if not added and not changed:
        return
    name = transfer.source.name
    reason = f"{name} got a column {next(iter(added))}" if added else f"{name}: its column {changed[0]} was changed"
    if added and overlap.may_be_later_than(transaction):
        # Its chunks were read without the column: values that it had by then are in none of them.
        raise TableChanged(f"{reason} while it was copied")
    followed = {each.lower() for each in (*added, *changed)}
    stated = tuple(column for column in change.stated if column.name.lower() in followed)
    raise ColumnsChanged(reason, (*transfer.source.column_names, *added), added or None, stated, transaction.position)


def _lost_key(change: Redefined, transfer: Transfer) -> bool:
    table = transfer.source
    keys = {index.name.lower() for index in table.indexes if index.unique and index.columns == table.key}
    return bool(transfer.reads.key and keys) and keys <= {name.lower() for name in change.unindexed}


@dataclass(frozen=True)
class Adapter:
    """Adds new columns to the target, and widens others. `same_engine`: both sides have the same engine."""

    source: Source
    target: Target
    fence: Fence
    endpoints: tuple[Endpoint, Endpoint]
    same_engine: bool

    def adapted(self, transfer: Transfer, problem: TableProblem) -> Transfer:
        """The transfer of a table that has the problem's columns now. Incompatible unless all that it got is more
        columns, or columns that hold more.
        """
        columns, defaults = problem.columns or transfer.source.column_names, problem.defaults
        gone = [column.name for column in transfer.reads.source_columns if column.name not in columns]
        if gone:
            raise Incompatible(f"its column {gone[0]} was dropped or renamed")
        try:
            (table,) = self.endpoints[0].describe([transfer.source.name])
            transfer = self._widened(transfer, table, problem)
            added = [self._added(table, name) for name in columns if name not in transfer.source.column_names]
            transfer = replace(transfer, typed=transfer.typed | self._typed(added, problem.stated))
            followed = [column for column in added if not _is_computed(transfer, column.name)]
            if not followed or not transfer.takes_more:
                return replace(transfer, source=_with(transfer.source, added))
            if (catalog := self.source.type_catalog(self.fence.task)) is not None:
                catalog.note_added(table.name, columns)
            given = self.source.added_column_values(table, followed, defaults)
            self._add(transfer, _reduced(table, transfer, followed), followed, given)
            (target,) = self.endpoints[1].describe([transfer.target.name])
        except TieoutError as error:
            if error.transient:
                raise
            raise Incompatible(str(error)) from None
        found = ((column, target.column(column.name)) for column in followed)
        pairs = tuple(
            (column, theirs) for column, theirs in found if not theirs.generated
        )  # the target computes generated ones itself
        kept = tuple((column, target.column(theirs.name)) for column, theirs in transfer.columns)
        shape = transfer.shape
        if shape is not None:
            places = range(len(shape.reads), len(shape.reads) + len(pairs))
            shape = replace(shape, reads=(*shape.reads, *pairs), cells=(*shape.cells, *places))
        source = _with(transfer.source, added)
        return replace(transfer, source=source, target=target, columns=(*kept, *pairs), shape=shape)

    def _widened(self, transfer: Transfer, table: Table, problem: TableProblem) -> Transfer:
        known = {name.lower() for name in transfer.source.column_names}
        stated = [column for column in problem.stated if column.name.lower() in known]
        if not stated:
            return transfer
        widener = Widener(self.source, self.target, self.fence, self.endpoints, self.same_engine)
        columns = widener.stated(transfer, table, stated)
        return replace(widener.widened(transfer, table, columns), widened_at=problem.at)

    def by_catalog(self, transfer: Transfer, retyped: Retyped | None) -> Transfer | None:
        """The transfer with the types that columns have now, by the source's catalog; None if they are as before.

        Incompatible if they do not hold what they held.
        """
        try:
            (table,) = self.endpoints[0].describe([transfer.source.name])
            widener = Widener(self.source, self.target, self.fence, self.endpoints, self.same_engine)
            columns = widener.by_catalog(transfer, table, retyped)
            return widener.widened(transfer, table, columns) if columns else None
        except TieoutError as error:
            if error.transient:
                raise
            raise Incompatible(str(error)) from None

    def _typed(self, added: list[Column], stated: tuple[Column, ...]) -> set[str]:
        """The new columns whose type was known when they were added: later statements may have changed it."""
        if self.source.type_changes is TypeChanges.CATALOG:
            return {column.name for column in added}
        known = {column.name: column for column in stated}
        return {
            column.name
            for column in added
            if column.name in known
            and is_same(known[column.name].type, column.type)
            and known[column.name].nullable == column.nullable
        }

    def _added(self, table: Table, name: str) -> Column:
        if name not in table.column_names:
            raise Incompatible(f"its column {name} was added and dropped again: its type is unknown")
        return table.column(name)

    def _add(self, transfer: Transfer, table: Table, added: list[Column], given: Mapping[str, str | None]) -> None:
        (there,) = self.endpoints[1].describe([transfer.target.name])
        for column in added:
            if column.name not in there.column_names:
                self.target.run(self.fence, transfer.target.name, self._statements(table, column, given[column.name]))
            else:  # an earlier attempt, another table of the source or somebody else has added it
                self._fill(transfer, table, column, there.column(column.name), given[column.name])

    def _fill(self, transfer: Transfer, table: Table, column: Column, own: Column, given: str | None) -> None:
        """Makes sure that rows have the value that the source's have, in a column that the target already has.

        Among rows of other tables, gives it to those of this one; else Incompatible if a row has another value.
        """
        logs_generated = self.source.logs_generated_columns
        reason = column_misfit(column, own, same_engine=self.same_engine, logs_generated_columns=logs_generated)
        name = transfer.target.name
        if reason is not None:
            raise Incompatible(f"{name} already has a column {own.name}, which does not fit: {reason}")
        if own.generated:
            return  # the target computes it
        value = self._expression(table, column, given)
        only = _told_apart_by(transfer)
        if not self.target.has_other_values(name, own, value, only):
            return
        if not only:
            raise Incompatible(f"{name} already has a column {own.name}, with other values than the source's rows got")
        self.target.mark_altering(self.fence, name)
        self.target.assign(self.fence, name, own, value, only)

    def _expression(self, table: Table, column: Column, given: str | None) -> str | None:
        """The value that the source's rows got, in the target's SQL."""
        if given is None or given.upper() == "NULL":
            return None
        first, bare = replace(column, default=given), replace(column, default=None)
        self._require_plain(first)
        if self.same_engine:
            return given
        line, without = (_line(self._structure(_having(table, each)), column.name) for each in (first, bare))
        return _inserted(line, without).removeprefix("DEFAULT ")

    def _statements(self, table: Table, column: Column, given: str | None) -> list[str]:
        """Existing rows get the value that the source's rows have, and later rows the present default."""
        if column.generated and not self.same_engine:
            raise Incompatible(f"its new column {column.name} is generated, and the log does not include its values")
        now = _line(self._structure(table), column.name)
        if given is None or given == column.default:
            self._require_plain(column)
            return [f"ALTER TABLE {TABLE} ADD COLUMN {now}"]
        first, bare = replace(column, default=given), replace(column, default=None)
        self._require_plain(first)
        if self.same_engine:
            # After the name, which may contain anything.
            own = _name(now)
            without = own + now.removeprefix(own).replace(f" DEFAULT {column.default}", "", 1)
            line = without.removesuffix(" NOT NULL") + f" DEFAULT {given}{'' if column.nullable else ' NOT NULL'}"
        else:
            without, line = (_line(self._structure(_having(table, each)), column.name) for each in (bare, first))
        default = _inserted(now, without)
        change = f"SET {default}" if default else "DROP DEFAULT"
        return [f"ALTER TABLE {TABLE} ADD COLUMN {line}", f"ALTER TABLE {TABLE} ALTER COLUMN {_name(now)} {change}"]

    def _require_plain(self, column: Column) -> None:
        """Refuses a default that not every engine understands: it might give other values."""
        if self.same_engine or column.default is None or column.default.upper() == "NULL":
            return
        default = plain_default(column)
        if default is None or default.kind is DefaultKind.NOW or column.type.name is TypeName.INSTANT:
            raise Incompatible(f"its new column {column.name} has a default that the target does not support")

    def _structure(self, table: Table) -> Structure:
        if ours := clashing_names(table.column_names):
            raise Incompatible(f"{ours[0]}: {OURS}")
        structure = (
            self.source.structure(table)
            if self.same_engine
            else self.target.structure_of(table, self.source.wiring(table))
        )
        if not isinstance(structure, Structure):
            raise Incompatible("; ".join(f"{column.column}: {column.reason}" for column in structure))
        return structure


def _told_apart_by(transfer: Transfer) -> dict[str, str]:
    """The columns of the target's key, with their texts, that only rows of this table of the source have; empty if no
    other table goes there, or only Spark could compute them.
    """
    shape = transfer.shape
    if shape is None or not shape.shared:
        return {}
    texts = {SCHEMA_NAME: transfer.source.name.schema, TABLE_NAME: transfer.source.name.name}
    computed = {transfer.columns[place][1].name: shape.cells[place] for place in transfer.key}
    cells = {name: cell.strip() for name, cell in computed.items() if isinstance(cell, str)}
    if any(cell not in texts and names_source(cell) for cell in cells.values()):
        return {}
    return {name: texts[cell] for name, cell in cells.items() if cell in texts}


def _is_computed(transfer: Transfer, name: str) -> bool:
    """Whether the transform computes the target's column that a new column of the source is named like, or renames
    another to it: then the new one is not moved. Incompatible if it is the column of another one of the source.
    """
    cells = transfer.shape.cells if transfer.shape is not None else (0,) * len(transfer.columns)
    for (column, theirs), cell in zip(transfer.columns, cells, strict=True):
        if theirs.name == name and not isinstance(cell, str):
            raise Incompatible(f"{transfer.target.name} has the values of {column.name} in its column {name}")
        alike = name == theirs.name or (
            name not in transfer.target.column_names and name.casefold() == theirs.name.casefold()
        )
        if alike and isinstance(cell, str):
            return True
    return False


def _with(table: Table, added: list[Column]) -> Table:
    return replace(table, columns=(*table.columns, *added))


def _reduced(table: Table, transfer: Transfer, added: list[Column]) -> Table:
    """The table without columns that are not moved, of which the target may have no type."""
    moved = {column.name for column in (*transfer.reads.source_columns, *added)}
    columns = tuple(column for column in table.columns if column.name in moved)
    return replace(table, columns=columns, indexes=tuple(each for each in table.indexes if moved >= set(each.columns)))


def _having(table: Table, column: Column) -> Table:
    return replace(table, columns=tuple(column if each.name == column.name else each for each in table.columns))


def _inserted(longer: str, shorter: str) -> str:
    """The text to insert into the shorter text, in one place, to get the longer one."""
    differ = (place for place, pair in enumerate(zip(longer, shorter, strict=False)) if pair[0] != pair[1])
    before = next(differ, len(shorter))
    return longer[before : len(longer) - (len(shorter) - before)].strip()


def _name(line: str) -> str:
    """The quoted name at the start of a column's line."""
    quote = line[0]
    end = 1
    while line[end] != quote or line[end : end + 2] == quote * 2:
        end += 2 if line[end] == quote else 1
    return line[: end + 1]


def as_planned(
    table: Table,
    planned: tuple[str, ...] | None,
    target: Callable[[], Table],
    types: Mapping[str, Column] = MappingProxyType({}),
    left_out: Collection[str] = (),
) -> Table:
    """A table as it was at the mover's position in the log: without columns that it got since, with those that it lost,
    and with the types that columns had there.

    The log says when they come and go. Only the target knows the type of a dropped column if `types` has none. One that
    the target does not have is not moved, and is left out, unless the log may still have it: a task leaves it out
    (`left_out`), so that its type does not matter.
    """
    table = replace(table, columns=tuple(_typed_as(column, types.get(column.name)) for column in table.columns))
    if planned is None or planned == table.column_names:
        return table
    now = {column.name: column for column in table.columns}
    there = target().columns if set(planned) - set(now) else ()
    lost = {column.name: types.get(column.name, column) for column in there}
    unread = {name.casefold() for name in left_out}
    for name in planned:
        if name not in now and name.casefold() in unread:
            lost.setdefault(name, types.get(name, Column(name, LogicalType(TypeName.TEXT, "text"), nullable=True)))
    return replace(table, columns=tuple(now.get(name) or lost[name] for name in planned if name in now or name in lost))


def _typed_as(column: Column, stored: Column | None) -> Column:
    if stored is None or stored.generated != column.generated:
        return column
    return replace(
        column,
        type=stored.type,
        nullable=stored.nullable,
        collation=stored.collation,
        charset=stored.charset,
    )


def _line(structure: Structure, name: str) -> str:
    """A column's line in CREATE TABLE, which starts with its name."""
    if name not in structure.columns:
        raise Incompatible(f"its new column {name} can't be created on the target")
    return structure.columns[name]
