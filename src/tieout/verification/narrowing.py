"""What was typed beside a task: which of its tables and columns it means, and what of it a table has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import NoReturn

from tieout.errors import TieoutError, UsageError
from tieout.model.requests import Narrowing, TableRequest, VerifyRequest
from tieout.model.results import SchemaFinding
from tieout.model.tables import Table, TableName
from tieout.tasks.routing import Matched, Route
from tieout.tasks.table_matching import is_pattern
from tieout.tasks.transforms import renamed_column
from tieout.verification.columns import on_neither
from tieout.verification.plan import Unverifiable


def typed_request(narrowing: Narrowing) -> TableRequest:
    """What was typed, as if it were an entry of the task."""
    return TableRequest(
        "*",
        source_where=narrowing.source_where,
        target_where=narrowing.target_where,
        key=narrowing.key,
        columns=narrowing.columns,
        exclude_columns=narrowing.exclude_columns,
        tolerance=narrowing.tolerance,
        expressions=narrowing.expressions,
    )


def narrowed(request: TableRequest, typed: TableRequest) -> TableRequest:
    """A task's entry with what was typed, both in the same names. What either leaves out is left out."""
    columns = typed.columns if request.columns is None else request.columns
    if columns is not None and typed.columns is not None:
        columns = tuple(name for name in columns if name in typed.columns)
    return replace(
        request,
        key=typed.key or request.key,
        columns=columns,
        exclude_columns=(*request.exclude_columns, *typed.exclude_columns),
        tolerance={**request.tolerance, **typed.tolerance},
        expressions={**request.expressions, **typed.expressions},
    )


LEFT_OUT = "the task leaves it out, so that nothing of it is compared"


@dataclass(frozen=True, slots=True)
class NamesOfTable:
    """The names of one table of a task, or of several whose rows are merged: its own are those of the source, or else
    that of the target.
    """

    own: Sequence[TableName]
    target: TableName | None

    @property
    def all(self) -> frozenset[TableName]:
        return frozenset(self.own if self.target is None else (*self.own, self.target))


@dataclass(frozen=True, slots=True)
class TypedTables:
    """Which tables of a task were typed, and which to leave out: by their own names, and by the target's."""

    named: frozenset[TableName] | None
    left_out: tuple[frozenset[TableName], frozenset[TableName]]

    @classmethod
    def of(cls, request: VerifyRequest, tables: Sequence[NamesOfTable], *, began: bool) -> TypedTables:
        """UsageError for a typed table that the task does not have, and for a plain name of one to leave out, unless
        the verification `began` before: what it leaves out may be gone since.

        A name to leave out is one of the source first: tables that only go to one of that name are not meant.
        """
        every = [table.all for table in tables]
        named = [_as_written(typed, every) or _in_another_case(typed, every) for typed in request.narrowing.tables]
        sides = [frozenset(table.own) for table in tables], [frozenset(filter(None, [t.target])) for t in tables]
        own, targets = set[TableName](), set[TableName]()
        for typed in request.narrowing.exclude:
            ways = ((find, side) for find in (_as_written, _in_another_case) for side in (0, 1))
            found, side = next(((f, side) for find, side in ways if (f := find(typed, sides[side]))), (frozenset(), 0))
            (own, targets)[side].update(found)
            if not (found or is_pattern(typed) or began):
                _refuse_unknown(typed, request, every)
        for typed, found in zip(request.narrowing.tables, named, strict=True):
            if not found:
                _refuse_unknown(typed, request, every)
        return cls(frozenset().union(*named) if named else None, (frozenset(own), frozenset(targets)))

    def names(self, table: NamesOfTable) -> bool:
        """Whether a table is one of the typed ones, or none were typed."""
        return self.named is None or not self.named.isdisjoint(table.all)

    def leave_out(self, table: NamesOfTable) -> list[TableName]:
        """Which of a table's own names are left out: all, if its target is."""
        own, targets = self.left_out
        return list(table.own) if table.target in targets else [name for name in table.own if name in own]


def _as_written(typed: str, tables: Sequence[frozenset[TableName]]) -> frozenset[TableName]:
    """The names that a typed name or pattern means, with a schema or without."""
    return frozenset(
        name
        for name in frozenset[TableName]().union(*tables)
        if fnmatchcase(str(name) if "." in typed else name.name, typed) or typed in (str(name), name.name)
    )


def _in_another_case(typed: str, tables: Sequence[frozenset[TableName]]) -> frozenset[TableName]:
    """The same ignoring case, if they are all names of one table. A pattern has none."""
    alike = _alike(typed, tables)
    having = [alike & table for table in tables if alike & table]
    return alike if having and having[0].intersection(*having) else frozenset()


def _alike(typed: str, tables: Sequence[frozenset[TableName]]) -> frozenset[TableName]:
    folded = typed.casefold()
    every = frozenset[TableName]().union(*tables)
    return frozenset(name for name in every if folded in (str(name).casefold(), name.name.casefold()))


def _refuse_unknown(typed: str, request: VerifyRequest, tables: Sequence[frozenset[TableName]]) -> NoReturn:
    if alike := sorted(_alike(typed, tables)):
        raise UsageError(f"the task has no table {typed}", f"did you mean {' or '.join(map(str, alike))}?")
    known = dict.fromkeys(entry.source for entry in request.tables)
    raise UsageError(f"the task has no table {typed}", f"it has {', '.join(known) or 'other tables'}")


def refuse_unknown_typed_columns(narrowing: Narrowing, tables: Sequence[Table | TieoutError]) -> None:
    """Raises UsageError for a typed column that no table has."""
    known = {name for table in tables if isinstance(table, Table) for name in table.column_names}
    folded = {name.casefold() for name in known}
    typed = *(narrowing.columns or ()), *narrowing.exclude_columns, *(narrowing.key or ()), *narrowing.tolerance
    for name in (*typed, *narrowing.expressions):
        if known and name.casefold() not in folded:
            raise UsageError(f"no table of the task has a column {name}", f"they have {', '.join(sorted(known))}")


def typed_for(typed: TableRequest, source: Table, target: Table) -> TableRequest:
    """What was typed, as far as a table has the columns: others have the rest.

    Unverifiable if it lacks a column of the key: without it, rows could change places.
    """
    known = {name.casefold() for name in (*source.column_names, *target.column_names)}
    refuse_without_key(typed.key, known, source.name.name)
    return replace(
        typed,
        columns=None if typed.columns is None else tuple(name for name in typed.columns if name.casefold() in known),
        exclude_columns=tuple(name for name in typed.exclude_columns if name.casefold() in known),
        tolerance={name: amount for name, amount in typed.tolerance.items() if name.casefold() in known},
        expressions={name: texts for name, texts in typed.expressions.items() if name.casefold() in known},
    )


def refuse_without_key(key: Sequence[str] | None, known: Set[str], table: str) -> None:
    """Unverifiable if a table lacks a column of the key that was typed. `known`: its columns, in lower case."""
    for name in key or ():
        if name.casefold() not in known:
            raise Unverifiable(f"{table} has no column {name} for the key that was typed")


def lacked(narrowing: Narrowing, known: Set[str]) -> tuple[SchemaFinding, ...]:
    """The typed columns that a table lacks on both sides: it is compared without them, and says so. `known`: its
    columns, in lower case.
    """
    names = (name for name in narrowing.columns or () if name.casefold() not in known)
    return tuple(map(on_neither, names))


@dataclass(frozen=True, slots=True)
class TypedColumns:
    """What was typed about columns of a table that is moved. `names` has, for each column of the target, its names: its
    own and those of the columns that it is a copy of; and each column that only the source has. `filled`: what the
    task moves. `known`: the names of all columns of all its tables.
    """

    narrowing: Narrowing
    names: Mapping[str, frozenset[str]]
    filled: frozenset[str]
    known: frozenset[str]

    @classmethod
    def of(
        cls, narrowing: Narrowing, routed: Sequence[tuple[Route, Table]], matches: Sequence[Matched], target: Table
    ) -> TypedColumns:
        names = {name: {name} for name in target.column_names}
        for (_, table), matched in zip(routed, matches, strict=True):
            for column in matched.missing:
                names.setdefault(column.name, set()).add(column.name)
            for column, there in matched.pairs:
                names[there.name].add(column.name)
            for there, expression in matched.computed:
                if (column_name := renamed_column(expression, table)) is not None:
                    names[there.name].add(column_name)
        tables = (target, *(table for _, table in routed))
        return cls(
            narrowing,
            {column: frozenset(known) for column, known in names.items()},
            frozenset[str]().union(*(matched.filled for matched in matches)),
            frozenset(name.casefold() for table in tables for name in table.column_names),
        )

    def meant(self, typed: str) -> set[str]:
        """The columns that have a name: as it is written, or else but for case."""
        exact = {column for column, names in self.names.items() if typed in names}
        folded = typed.casefold()
        return exact or {c for c, names in self.names.items() if folded in {name.casefold() for name in names}}

    def chosen(self, typed: str) -> set[str]:
        """The same, but only the target's column of that name if the task fills it."""
        return {typed} if typed in self.filled else self.meant(typed)

    @property
    def _left_out(self) -> set[str]:
        return set[str]().union(*map(self.chosen, self.narrowing.exclude_columns))

    def wanted(self, key: Sequence[str]) -> set[str]:
        """The columns to compare. A key is, whatever columns were chosen: without it, rows could change places."""
        listed = set(self.names)
        if self.narrowing.columns is not None:
            listed = set[str]().union(*map(self.meant, self.narrowing.columns))
            listed |= set[str]().union(*map(self.chosen, key)) if listed else set()
        return listed - self._left_out

    def by_column(self, typed: Mapping[str, str]) -> dict[str, str]:
        return {column: value for name, value in typed.items() for column in self.chosen(name)}

    def untold(self, told: Set[str]) -> list[str]:
        """The typed names that one of the tables has, and that no compared column has."""
        left_out = {name.casefold() for name in self.narrowing.exclude_columns}
        return [
            name
            for name in self.narrowing.columns or ()
            if name.casefold() in self.known - left_out and self.meant(name).isdisjoint({*told, *self._left_out})
        ]
