"""The statements that find the rows that break constraints, in every SQL engine.

No server may answer them from the constraint itself, nor from an index: each engine writes the statements so that it
has to read the rows, and proves that by its plan.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from tieout.connectors.protocols.endpoint import Scan, ScanColumn
from tieout.connectors.protocols.paths import OnlyRows, ViolationQuery, exact_columns
from tieout.connectors.sql import select
from tieout.connectors.sql.dialect import Dialect
from tieout.model.canonical_kinds import Form, Kind
from tieout.model.constraints import ConstraintInfo, ConstraintKind, Match
from tieout.model.keys import Key
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import LogicalType, TypeName

EVERY_ROW = "1 = 1"
_GROUP = ScanColumn(Column("group", LogicalType(TypeName.INTEGER, "group", 64)), Kind(Form.INTEGER))


class ConstraintDialect(ABC):
    """How an engine writes the parts of these statements so that it has to read the rows."""

    @property
    @abstractmethod
    def dialect(self) -> Dialect: ...

    @abstractmethod
    def source(self, table: TableName, alias: str | None = None) -> str:
        """A table in FROM whose rows are read, and no index."""

    @abstractmethod
    def is_null(self, expression: str) -> str:
        """IS NULL in words that no optimizer answers from a NOT NULL."""

    @abstractmethod
    def opaque(self, key: str) -> str:
        """The same value in words in which no optimizer recognizes an index or a unique column."""

    def is_true(self, condition: str) -> str:
        """Neither false nor NULL, in words that no optimizer turns into a range of an index."""
        return f"({condition} IS TRUE)"

    def is_false(self, condition: str) -> str:
        return f"{condition} IS FALSE"

    def named_source(self, table: TableName, alias: str | None) -> str:
        named = self.dialect.table(table)
        return named if alias is None else f"{named} AS {alias}"

    def indexed_source(self, table: TableName, alias: str | None = None) -> str:
        """A table in FROM that the engine may read through an index."""
        return self.named_source(table, alias)

    def grouped(self, columns: str, source: str, condition: str, keys: Sequence[str]) -> str:
        """SELECT … GROUP BY these keys."""
        return f"SELECT {columns} FROM {source} WHERE {condition} GROUP BY {', '.join(keys)}"

    def alike(self, columns: Sequence[ScanColumn], source: str, condition: str, keys: Sequence[str]) -> str:
        """The rows that share their keys with others; behind the columns a number that such rows have in common.

        This one suits engines that sort by the whole of a value.
        """
        listed = ", ".join(keys)
        each = (
            f"SELECT {select.wires(self.dialect, columns)}, COUNT(*) OVER (PARTITION BY {listed}) AS n, "
            f"DENSE_RANK() OVER (ORDER BY {listed}) AS g FROM {source} WHERE {condition}"
        )
        names = ", ".join([*(f"c{place}" for place in range(len(columns))), "g"])
        return f"SELECT {names} FROM ({each}) AS w WHERE n > 1"

    def without_parent(self, constraint: ConstraintInfo) -> str:
        """True if no row of the parent has what the row `c` refers to. Reads the parent's rows and no index of it."""
        assert constraint.reference is not None
        return _no_row(self.source(constraint.reference.parent, "p"), constraint)

    def without_indexed_parent(self, constraint: ConstraintInfo) -> str:
        """The same, but the engine may read the parent through an index."""
        assert constraint.reference is not None
        return _no_row(self.indexed_source(constraint.reference.parent, "p"), constraint)

    def refers(self, compared: str, parent: str, child: Column, value: str) -> str:
        """True if the row `c` refers to a value of the parent's column; `compared` is the constraint's for the two.

        This one suits engines whose `compared` begins with the parent's column.
        """
        return self.dialect.literal(child, value) + compared.removeprefix(f"p.{self.dialect.quote(parent)}")


def _no_row(parent: str, constraint: ConstraintInfo) -> str:
    return f"NOT EXISTS (SELECT 1 FROM {parent} WHERE {' AND '.join(constraint.compared)})"


@dataclass(frozen=True)
class ConstraintScan:
    """What to read of a table for some of its constraints; `only`: of these rows alone."""

    table: Table
    constraints: tuple[ConstraintInfo, ...]
    address: tuple[ScanColumn, ...]
    key: tuple[ScanColumn, ...]
    values: tuple[ScanColumn, ...]
    only: OnlyRows | None = None

    @property
    def columns(self) -> tuple[ScanColumn, ...]:
        return (*self.address, *self.key, *self.values)

    @property
    def aliases(self) -> dict[str, str]:
        """The names of tables by their aliases in the statements."""
        references = [constraint.reference for constraint in self.constraints if constraint.reference is not None]
        return {"c": self.table.name.name, "p": references[0].parent.name} if references else {}


@dataclass(frozen=True)
class ConstraintQueries:
    """`marks` are the columns that a listing has behind those of the ConstraintScan."""

    parts: tuple[ViolationQuery, ...]
    marks: tuple[ScanColumn, ...] = ()


def queries(engine: ConstraintDialect, scan: ConstraintScan, ranges: Sequence[str] = (EVERY_ROW,)) -> ConstraintQueries:
    """The statements that find the rows that break the constraints.

    `ranges` are conditions that split the table; only constraints that concern one row alone are split by them.
    """
    (first, *_) = scan.constraints
    if first.kind.of_row_alone:
        return _of_rows(engine, scan, ranges)
    if first.kind is ConstraintKind.FOREIGN_KEY:
        return _of_reference(engine, scan)
    return _of_key(engine, scan)


def _of_rows(engine: ConstraintDialect, scan: ConstraintScan, ranges: Sequence[str]) -> ConstraintQueries:
    broken = [_broken(engine, constraint) for constraint in scan.constraints]
    marks = tuple(
        ScanColumn(Column("broken", LogicalType(TypeName.BOOLEAN, "boolean")), Kind(Form.BOOLEAN), each)
        for each in broken
    )
    anything = " OR ".join(f"({each})" for each in broken)
    source = _source(engine, scan)
    columns = select.wires(engine.dialect, (*scan.columns, *marks))
    parts = []
    for within in ranges:
        where = f"{within} AND {_among(engine, scan)}"
        probe = f"SELECT COUNT(*), COUNT(CASE WHEN {anything} THEN 1 END) FROM {source} WHERE {where}"
        parts.append(ViolationQuery(probe, f"SELECT {columns} FROM {source} WHERE {where} AND ({anything})"))
    return ConstraintQueries(tuple(parts), marks)


def _broken(engine: ConstraintDialect, constraint: ConstraintInfo) -> str:
    if constraint.kind is ConstraintKind.NOT_NULL:
        return engine.is_null(engine.dialect.quote(constraint.columns[0]))
    # A constraint holds if its expression is neither true nor false. The expression may end in a comment.
    return engine.is_false(f"({constraint.expression}\n)")


def _of_key(engine: ConstraintDialect, scan: ConstraintScan) -> ConstraintQueries:
    (constraint,) = scan.constraints
    keys = tuple(engine.opaque(key) for key in constraint.compared)
    # Not the condition itself: one on the key would become a range of the table, which misses rows out of order.
    condition = EVERY_ROW if constraint.condition is None else engine.is_true(f"({constraint.condition}\n)")
    if constraint.nulls_distinct:
        condition += "".join(f" AND NOT {engine.is_null(key)}" for key in keys)
    source = _source(engine, scan)
    if scan.only is not None:
        source, condition = _wanted_and_alike(engine, scan, condition)
    groups = engine.grouped("COUNT(*) AS n", source, condition, keys)
    probe = f"SELECT COALESCE(SUM(n), 0), COUNT(CASE WHEN n > 1 THEN 1 END) FROM ({groups}) AS g"
    listing = engine.alike(scan.columns, source, condition, keys)
    return ConstraintQueries((ViolationQuery(probe, listing),), (_GROUP,))


def _wanted_and_alike(engine: ConstraintDialect, scan: ConstraintScan, condition: str) -> tuple[str, str]:
    """FROM and WHERE of the rows in `only`, found by their own key, and of the rows that an index finds to be alike.

    A duplicate may be missing in the unique index that should have refused it: its own key still finds it.
    """
    (constraint,) = scan.constraints
    source, among = _source(engine, scan), _among(engine, scan)
    named = [(engine.dialect.quote(column.name), f"tieout_key{place}") for place, column in enumerate(scan.key)]
    if not named:  # rows without a key can't be in `only`
        return source, f"{condition} AND {among}"
    alike = [_alike(constraint, f"FROM {source} WHERE {condition} AND {among}")]
    if not constraint.nulls_distinct:  # IN finds no NULL
        alike += [engine.is_null(key) for key in constraint.compared]
    rows = f"SELECT {', '.join(f'{name} AS {alias}' for name, alias in named)} FROM {source} WHERE"
    found = f"{rows} {among} UNION {rows} {condition} AND ({' OR '.join(alike)})"
    same = " AND ".join(
        engine.dialect.compared(column.column, name, "=", f"tieout_asked.{alias}")
        for column, (name, alias) in zip(scan.key, named, strict=True)
    )
    # Not JOIN … ON: PostgreSQL has no ctid for the rows of a join.
    return f"({found}) AS tieout_asked, {source}", f"{condition} AND {same}"


def _alike(constraint: ConstraintInfo, rows: str) -> str:
    """True if a row has the same key as one of the selected rows; `rows` is the FROM and WHERE of those."""
    keys = ", ".join(constraint.compared)
    if not constraint.equal:
        return f"({keys}) IN (SELECT {keys} {rows})"
    names = [f"tieout_given{place}" for place in range(len(constraint.compared))]
    listed = ", ".join(f"{key} AS {name}" for key, name in zip(constraint.compared, names, strict=True))
    parts = zip(constraint.compared, constraint.equal, names, strict=True)
    same = " AND ".join(f"({key}) {equal} {name}" for key, equal, name in parts)
    return f"EXISTS (SELECT 1 FROM (SELECT {listed} {rows}) AS tieout_given WHERE {same})"


def _of_reference(engine: ConstraintDialect, scan: ConstraintScan) -> ConstraintQueries:
    (constraint,) = scan.constraints
    assert constraint.reference is not None
    nulls = [engine.is_null(f"c.{engine.dialect.quote(name)}") for name in constraint.columns]
    complete = " AND ".join(f"NOT {null}" for null in nulls)
    if scan.only is None:
        source, orphan = engine.source(scan.table.name, "c"), engine.without_parent(constraint)
    else:
        source, orphan = engine.indexed_source(scan.table.name, "c"), engine.without_indexed_parent(constraint)
    broken = [f"{complete} AND {orphan}"]
    if constraint.reference.match is Match.FULL and len(nulls) > 1:
        broken.append(f"({' OR '.join(nulls)}) AND NOT ({' AND '.join(nulls)})")
    columns, among = select.wires(engine.dialect, scan.columns), _among_or_referring(engine, scan, constraint)
    probe = f"SELECT COUNT(*), COUNT(*) FROM {source} WHERE {among} AND "
    asks = [complete, broken[-1]]
    parts = [
        ViolationQuery(probe + ask, f"SELECT {columns} FROM {source} WHERE {among} AND {each}", sure=False)
        for ask, each in zip(asks, broken, strict=False)
    ]
    return ConstraintQueries(tuple(parts))


def refusal(engine: ConstraintDialect, scan: ConstraintScan) -> str | None:
    """The reason if single rows can't be checked: a row that no literal finds would count as correct."""
    if scan.only is None:
        return None
    sought: list[tuple[Table, Sequence[ScanColumn], tuple[Key, ...]]] = [(scan.table, scan.key, scan.only.keys)]
    for constraint in scan.constraints:
        if constraint.reference is not None:
            parents = scan.only.parents.get(constraint.name, ())
            sought.append((scan.table, exact_columns(scan.table, constraint.columns), parents))
    for table, columns, keys in sought:
        if keys and not (columns and all(engine.dialect.finds(column) for column in columns)):
            names = ", ".join(column.name for column in columns)
            return f"single rows of {table.name} can't be found by {names or 'a key'}: check all of them"
    return None


def _source(engine: ConstraintDialect, scan: ConstraintScan) -> str:
    make = engine.source if scan.only is None else engine.indexed_source
    return make(scan.table.name)


def _among(engine: ConstraintDialect, scan: ConstraintScan) -> str:
    if scan.only is None:
        return EVERY_ROW
    if not scan.only.keys:
        return "1 = 0"
    rows = Scan(scan.table, scan.key, tuple(range(len(scan.key))))
    return select.among(engine.dialect, rows, scan.only.keys)


def _among_or_referring(engine: ConstraintDialect, scan: ConstraintScan, constraint: ConstraintInfo) -> str:
    parents = scan.only.parents.get(constraint.name, ()) if scan.only is not None else ()
    if not parents:
        return _among(engine, scan)
    assert constraint.reference is not None
    columns = [scan.table.column(name) for name in constraint.columns]
    pairs = list(zip(constraint.compared, constraint.reference.columns, columns, strict=True))
    referring = [
        " AND ".join(engine.refers(*pair, value) for pair, value in zip(pairs, key, strict=True)) for key in parents
    ]
    return "(" + " OR ".join([_among(engine, scan), *(f"({each})" for each in referring)]) + ")"
