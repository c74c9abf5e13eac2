"""What was typed beside a task: which of its tables and columns it means, and what of it a table has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from tieout.errors import TieoutError, UsageError
from tieout.model.requests import Narrowing, TableRequest, VerifyRequest
from tieout.model.results import SchemaFinding
from tieout.model.tables import Table, TableName
from tieout.tasks.routing import Matched, Route
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


def is_matched(names: Sequence[TableName], patterns: Sequence[str]) -> bool:
    """Whether one of these names of a table was typed, with its schema or without."""
    return any(
        fnmatchcase(str(name) if "." in pattern else name.name, pattern) or pattern in (str(name), name.name)
        for name in names
        for pattern in patterns
    )


def is_named(narrowing: Narrowing, names: Sequence[TableName]) -> bool:
    """Whether a table with these names is one of the typed ones, or none were typed."""
    return not narrowing.tables or is_matched(names, narrowing.tables)


def is_left_out(narrowing: Narrowing, names: Sequence[TableName]) -> bool:
    return is_matched(names, narrowing.exclude)


def refuse_unknown_typed_tables(request: VerifyRequest, names: Sequence[TableName]) -> None:
    """Raises UsageError for a typed table that the task does not have. `names`: those of its tables."""
    for typed in request.narrowing.tables:
        if not is_matched(names, [typed]):
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
