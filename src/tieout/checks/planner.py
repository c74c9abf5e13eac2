"""Plans the checks of a statement from the catalog."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tieout.connectors.protocols.check import Checker, IndexInfo
from tieout.connectors.sql.internal_tables import is_own
from tieout.errors import AccessError, BusyError, MissingObjectError, ReadError, UnsupportedError, UsageError
from tieout.model.check_statements import CheckStatement, Family, Named
from tieout.model.constraints import ConstraintInfo
from tieout.model.nearest import suggestion
from tieout.model.tables import Table, TableName

_UNREADABLE = (AccessError, BusyError, ReadError)
"""A table that is locked or that this user may not read, or a damaged catalog: the checks of other tables go on."""


@dataclass(frozen=True)
class PlannedTable:
    """A table and its checks. `undescribed`: why the catalog could not describe it; then only its definition can be
    checked. `unlisted`: why the catalog could not list its indexes.
    """

    table: Table
    families: frozenset[Family]
    indexes: tuple[IndexInfo, ...] = ()
    constraints: tuple[ConstraintInfo, ...] = ()
    undescribed: str | None = None
    unlisted: str | None = None


def plan(statement: CheckStatement, checker: Checker) -> list[PlannedTable]:
    """Raises UsageError for unknown names, all of them at once."""
    if statement.as_of is not None:
        raise UnsupportedError("this engine can't read the past, so Tieout refuses AS OF", "remove it")
    names = _tables(statement, checker)
    planned = []
    for table in _described(checker, checker.leaves(names)):
        if isinstance(table, Table):
            planned.append(_planned(table, statement.families, checker))
        else:
            name, reason = table
            planned.append(PlannedTable(Table(name, ()), statement.families, undescribed=reason))
    return _only_named(statement, planned)


def _planned(table: Table, families: frozenset[Family], checker: Checker) -> PlannedTable:
    try:
        constraints = checker.constraints(table) if Family.CONSTRAINT in families else []
    except _UNREADABLE as error:
        return PlannedTable(table, families, undescribed=str(error))
    try:
        indexes = checker.indexes(table) if Family.INDEX in families else []
    except _UNREADABLE as error:
        return PlannedTable(table, families, constraints=tuple(constraints), unlisted=str(error))
    return PlannedTable(table, families, tuple(indexes), tuple(constraints))


def _described(checker: Checker, names: Sequence[TableName]) -> list[Table | tuple[TableName, str]]:
    """Describes all tables at once; if the catalog can't, in ever smaller groups."""
    try:
        return list(checker.describe(names))
    except (*_UNREADABLE, MissingObjectError) as error:
        if len(names) < 2:
            return [(name, str(error)) for name in names]
        half = len(names) // 2
        return [*_described(checker, names[:half]), *_described(checker, names[half:])]


def defined(statement: CheckStatement, checker: Checker) -> list[TableName] | None:
    """The tables whose definitions are checked, partitioned tables with their partitions. None: the whole database."""
    if statement.database is not None:
        return None
    names = _tables(statement, checker)
    return list(dict.fromkeys([*names, *checker.leaves(names)]))


def _tables(statement: CheckStatement, checker: Checker) -> list[TableName]:
    if statement.database is not None:
        if statement.database != checker.database and statement.database.casefold() not in checker.other_names:
            raise UsageError(
                f"this is the database {checker.database}, not {statement.database}",
                "use the URL of the database to check",
            )
        return [name for name in checker.all_tables() if not is_own(name)]
    found, missing = [], []
    for named in statement.tables:
        known = checker.tables(named.schema)
        match = _match(named, known)
        if match is None:
            missing.append((named, known))
        else:
            found.append(match)
    if missing:
        names = ", ".join(str(named) for named, _ in missing)
        hint = suggestion(missing[0][0].name, [table.name for table in missing[0][1]])
        raise UsageError(f"{checker.database} has no table {names}", hint)
    return list(dict.fromkeys(found))


def _match(named: Named, known: Sequence[TableName]) -> TableName | None:
    """Matches a table by its exact name, or ignoring case if exactly one matches."""
    exact = [table for table in known if table.name == named.name]
    folded = [table for table in known if table.name.casefold() == named.name.casefold()]
    return exact[0] if exact else folded[0] if len(folded) == 1 else None


def _only_named(statement: CheckStatement, planned: Sequence[PlannedTable]) -> list[PlannedTable]:
    tables = [str(table.table.name) for table in planned]
    sure = all(table.undescribed is None and table.unlisted is None for table in planned)
    if statement.indexes and sure:
        known = [index.name for table in planned for index in table.indexes]
        _refuse_unknown(("index", "indexes"), statement.indexes, known, tables)
    if statement.constraints and sure:
        known = [constraint.name for table in planned for constraint in table.constraints]
        _refuse_unknown(("constraint", "constraints"), statement.constraints, known, tables)
    return [
        replace(
            table,
            indexes=tuple(each for each in table.indexes if each.name in (statement.indexes or (each.name,))),
            constraints=tuple(
                each for each in table.constraints if each.name in (statement.constraints or (each.name,))
            ),
        )
        for table in planned
    ]


def _refuse_unknown(what: tuple[str, str], wanted: Iterable[str], known: Sequence[str], tables: Sequence[str]) -> None:
    """Raises UsageError for unknown names. `what` is the noun in the singular and in the plural."""
    missing = [name for name in wanted if name not in known]
    if missing:
        noun = what[0] if len(missing) == 1 else what[1]
        raise UsageError(f"{', '.join(tables)} has no {noun} {', '.join(missing)}", suggestion(missing[0], known))
