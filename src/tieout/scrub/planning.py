"""From a statement and a catalog to the checks that are made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tieout.config.nearest import suggestion
from tieout.connectors.checking import Checker, IndexInfo
from tieout.errors import BusyError, UnsupportedError, UsageError
from tieout.model.constraints import ConstraintInfo
from tieout.model.statements import CheckStatement, Family, Named
from tieout.model.tables import Table, TableName


@dataclass(frozen=True)
class PlannedTable:
    """A table, and what is checked of it. `unread` is why its catalog could not be read."""

    table: Table
    families: frozenset[Family]
    indexes: tuple[IndexInfo, ...] = ()
    constraints: tuple[ConstraintInfo, ...] = ()
    unread: str | None = None


def plan(statement: CheckStatement, checker: Checker) -> list[PlannedTable]:
    """UsageError for names that mean nothing, all of them at once."""
    if statement.as_of is not None:
        raise UnsupportedError("this engine can't read the past: AS OF is refused", "leave it out")
    names = _tables(statement, checker)
    return _only_named(statement, _described(statement.families, checker, checker.leaves(names)))


def _described(families: frozenset[Family], checker: Checker, names: Sequence[TableName]) -> list[PlannedTable]:
    """All at once; where one of them is locked, each by itself, so that the others are checked."""
    try:
        return [_planned(families, checker, table) for table in checker.describe(names)]
    except BusyError:
        return [planned for name in names for planned in _alone(families, checker, name)]


def _alone(families: frozenset[Family], checker: Checker, name: TableName) -> list[PlannedTable]:
    try:
        return [_planned(families, checker, table) for table in checker.describe([name])]
    except BusyError as error:
        return [PlannedTable(Table(name, ()), families, unread=str(error))]


def _planned(families: frozenset[Family], checker: Checker, table: Table) -> PlannedTable:
    indexes = checker.indexes(table) if Family.INDEX in families else []
    constraints = checker.constraints(table) if Family.CONSTRAINT in families else []
    return PlannedTable(table, families, tuple(indexes), tuple(constraints))


def _tables(statement: CheckStatement, checker: Checker) -> list[TableName]:
    if statement.database is not None:
        if statement.database != checker.database:
            raise UsageError(
                f"this is the database {checker.database}, not {statement.database}",
                "give the URL of the database that is to be checked",
            )
        return checker.all_tables()
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
        raise UsageError(f"there is no table {names} in {checker.database}", hint)
    return list(dict.fromkeys(found))


def _match(named: Named, known: Sequence[TableName]) -> TableName | None:
    """By its name as it is, or else, if that is clear, whatever its case."""
    exact = [table for table in known if table.name == named.name]
    folded = [table for table in known if table.name.casefold() == named.name.casefold()]
    return exact[0] if exact else folded[0] if len(folded) == 1 else None


def _only_named(statement: CheckStatement, planned: Sequence[PlannedTable]) -> list[PlannedTable]:
    tables = [str(table.table.name) for table in planned]
    if statement.indexes:
        known = [index.name for table in planned for index in table.indexes]
        _refuse_unknown(("index", "indexes"), statement.indexes, known, tables)
    if statement.constraints:
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
    """`what` in the singular and in the plural."""
    missing = [name for name in wanted if name not in known]
    if missing:
        noun = f"is no {what[0]}" if len(missing) == 1 else f"are no {what[1]}"
        raise UsageError(f"there {noun} {', '.join(missing)} of {', '.join(tables)}", suggestion(missing[0], known))
