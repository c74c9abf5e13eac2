"""Rows that break constraints, found by the engine itself: the statements that every engine is asked.

Nothing may be answered from the constraint itself, nor from an index: each engine spells the statements so that it has
to read the rows, and proves it from its plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from tieout.connectors import sql
from tieout.connectors.base import Scan, ScanColumn
from tieout.model.constraints import ConstraintInfo, ConstraintKind, Match
from tieout.model.keys import Key
from tieout.model.kinds import Form, Kind, common_kind
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import LogicalType, TypeName

if TYPE_CHECKING:
    import pyarrow as pa

EVERY_ROW = "1 = 1"
_GROUP = ScanColumn(Column("group", LogicalType(TypeName.INTEGER, "group", 64)), Kind(Form.INTEGER))


@dataclass(frozen=True, slots=True)
class OnlyRows:
    """Some rows of a table, by their keys: canonical text, in the order of `Table.key`.

    What is asked of a row alone is asked of these. A key has to be unique among these and all that have the same
    values. A foreign key is asked of these, and of the rows that refer to its `parents`: by the foreign key's name,
    values of the parent's columns, in the order of the reference. They are read through whatever index leads to them.
    """

    keys: tuple[Key, ...] = ()
    parents: Mapping[str, tuple[Key, ...]] = field(default_factory=dict)


class Asking(Protocol):
    """Sends statements, on executors: picklable, opens its own connections. Reads only."""

    def rows(self, statement: str, columns: Sequence[ScanColumn]) -> Iterator[pa.RecordBatch]:
        """Each column in a wire form that `decode` takes."""

    def numbers(self, statement: str) -> tuple[int, int]:
        """The only row."""


@dataclass(frozen=True, slots=True)
class Part:
    """`probe` counts the rows that are asked, and those that may break something: if there are none of these, there is
    nothing to list. If `sure`, they do break it: then something has to be listed.
    """

    probe: str
    listing: str
    sure: bool = True


@dataclass(frozen=True)
class Violations:
    """A way to find the rows that break some constraints: several that are asked of each row alone, or one other.

    A batch of the listing has columns for `address`, then for the row's `key`, then for `values`, which are what the
    constraints are about. Behind these are `marks`. Of constraints that are asked of a row alone: for each, whether the
    row breaks it. Of a key: a number that rows of the same values have in common. Of a foreign key: none.
    """

    constraints: tuple[ConstraintInfo, ...]
    asking: Asking
    address: tuple[ScanColumn, ...]
    key: tuple[ScanColumn, ...]
    values: tuple[ScanColumn, ...]
    marks: tuple[ScanColumn, ...]
    parts: tuple[Part, ...]
    evidence: str

    @property
    def columns(self) -> tuple[ScanColumn, ...]:
        return (*self.address, *self.key, *self.values, *self.marks)


class Spelling(Protocol):
    """How an engine writes what these statements are made of."""

    @property
    def dialect(self) -> sql.Dialect: ...

    def source(self, table: TableName, alias: str | None = None) -> str:
        """A table in FROM, such that its rows are read and no index."""

    def indexed_source(self, table: TableName, alias: str | None = None) -> str:
        """A table in FROM, however it is read."""

    def is_null(self, expression: str) -> str:
        """In words that no optimiser answers from a NOT NULL."""

    def opaque(self, key: str) -> str:
        """The same value in words for which no optimiser sees an index, nor that it is unique."""

    def grouped(self, columns: str, source: str, condition: str, keys: Sequence[str]) -> str:
        """SELECT … GROUP BY, each key in its own words."""

    def alike(self, columns: Sequence[ScanColumn], source: str, condition: str, keys: Sequence[str]) -> str:
        """The rows of which others have the same keys; behind the columns a number that these have in common."""

    def without_parent(self, constraint: ConstraintInfo) -> str:
        """That no row of the parent has what the row `c` refers to. The parent is read, and no index of it."""

    def without_indexed_parent(self, constraint: ConstraintInfo) -> str:
        """The same, however the parent is read."""

    def refers(self, compared: str, parent: str, child: Column, value: str) -> str:
        """That the row `c` refers to a value of the parent's column; `compared` is the constraint's for the two."""


@dataclass(frozen=True)
class Asked:
    """What is read of a table for some of its constraints."""

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
        """What tables are called in the statements, and their names."""
        references = [constraint.reference for constraint in self.constraints if constraint.reference is not None]
        return {"c": self.table.name.name, "p": references[0].parent.name} if references else {}


@dataclass(frozen=True)
class Question:
    """The parts, and what their listings have behind the columns of Asked."""

    parts: tuple[Part, ...]
    marks: tuple[ScanColumn, ...] = ()


def question(spelling: Spelling, asked: Asked, ranges: Sequence[str] = (EVERY_ROW,)) -> Question:
    """`ranges` are conditions that cut the table; only what is asked of a row alone is cut by them."""
    (first, *_) = asked.constraints
    if first.kind.of_row_alone:
        return _of_rows(spelling, asked, ranges)
    if first.kind is ConstraintKind.FOREIGN_KEY:
        return _of_reference(spelling, asked)
    return _of_key(spelling, asked)


def exact_columns(table: Table, names: Sequence[str]) -> list[ScanColumn]:
    """Those of these columns that can be read exactly."""
    kinds = [(table.column(name), common_kind(table.column(name).type, table.column(name).type)) for name in names]
    return [ScanColumn(column, kind) for column, kind in kinds if isinstance(kind, Kind)]


def exact_key(table: Table) -> tuple[ScanColumn, ...]:
    """The columns that rows are called by; none if one of them can't be read exactly."""
    columns = exact_columns(table, table.key)
    return tuple(columns) if len(columns) == len(table.key) else ()


def _of_rows(spelling: Spelling, asked: Asked, ranges: Sequence[str]) -> Question:
    broken = [_broken(spelling, constraint) for constraint in asked.constraints]
    marks = tuple(
        ScanColumn(Column("broken", LogicalType(TypeName.BOOLEAN, "boolean")), Kind(Form.BOOLEAN), each)
        for each in broken
    )
    anything = " OR ".join(f"({each})" for each in broken)
    source = _source(spelling, asked)
    columns = sql.wires(spelling.dialect, (*asked.columns, *marks))
    parts = []
    for within in ranges:
        where = f"{within} AND {_among(spelling, asked)}"
        probe = f"SELECT COUNT(*), COUNT(CASE WHEN {anything} THEN 1 END) FROM {source} WHERE {where}"
        parts.append(Part(probe, f"SELECT {columns} FROM {source} WHERE {where} AND ({anything})"))
    return Question(tuple(parts), marks)


def _broken(spelling: Spelling, constraint: ConstraintInfo) -> str:
    if constraint.kind is ConstraintKind.NOT_NULL:
        return spelling.is_null(spelling.dialect.quote(constraint.columns[0]))
    # What is neither true nor false holds. The expression may end in a comment.
    return f"({constraint.expression}\n) IS FALSE"


def _of_key(spelling: Spelling, asked: Asked) -> Question:
    (constraint,) = asked.constraints
    keys = tuple(spelling.opaque(key) for key in constraint.compared)
    # IS TRUE: else a condition on the key would be a range of the table, and rows out of order not be read.
    condition = EVERY_ROW if constraint.condition is None else f"(({constraint.condition}\n) IS TRUE)"
    if constraint.nulls_distinct:
        condition += "".join(f" AND NOT {spelling.is_null(key)}" for key in keys)
    source = _source(spelling, asked)
    if asked.only is not None:
        source, condition = _asked_and_alike(spelling, asked, condition)
    groups = spelling.grouped("COUNT(*) AS n", source, condition, keys)
    probe = f"SELECT COALESCE(SUM(n), 0), COUNT(CASE WHEN n > 1 THEN 1 END) FROM ({groups}) AS g"
    listing = spelling.alike(asked.columns, source, condition, keys)
    return Question((Part(probe, listing),), (_GROUP,))


def _asked_and_alike(spelling: Spelling, asked: Asked, condition: str) -> tuple[str, str]:
    """In FROM and in WHERE: the rows that are asked for, by their own key, and what an index finds to be like them.

    If one of two is not in the index that should have kept it out, it is there by its own key.
    """
    (constraint,) = asked.constraints
    source, among = _source(spelling, asked), _among(spelling, asked)
    named = [(spelling.dialect.quote(column.name), f"tieout_key{place}") for place, column in enumerate(asked.key)]
    if not named:  # of a table without a key nothing is asked
        return source, f"{condition} AND {among}"
    keys = ", ".join(constraint.compared)
    alike = [f"({keys}) IN (SELECT {keys} FROM {source} WHERE {condition} AND {among})"]
    if not constraint.nulls_distinct:  # IN finds no NULL
        alike += [spelling.is_null(key) for key in constraint.compared]
    rows = f"SELECT {', '.join(f'{name} AS {alias}' for name, alias in named)} FROM {source} WHERE"
    found = f"{rows} {among} UNION {rows} {condition} AND ({' OR '.join(alike)})"
    same = " AND ".join(f"{name} = tieout_asked.{alias}" for name, alias in named)
    # Not JOIN … ON: of those, PostgreSQL does not tell the place of a row.
    return f"({found}) AS tieout_asked, {source}", f"{condition} AND {same}"


def _of_reference(spelling: Spelling, asked: Asked) -> Question:
    (constraint,) = asked.constraints
    assert constraint.reference is not None
    nulls = [spelling.is_null(f"c.{spelling.dialect.quote(name)}") for name in constraint.columns]
    complete = " AND ".join(f"NOT {null}" for null in nulls)
    if asked.only is None:
        source, orphan = spelling.source(asked.table.name, "c"), spelling.without_parent(constraint)
    else:
        source, orphan = spelling.indexed_source(asked.table.name, "c"), spelling.without_indexed_parent(constraint)
    broken = [f"{complete} AND {orphan}"]
    if constraint.reference.match is Match.FULL and len(nulls) > 1:
        broken.append(f"({' OR '.join(nulls)}) AND NOT ({' AND '.join(nulls)})")
    columns, among = sql.wires(spelling.dialect, asked.columns), _among_or_referring(spelling, asked, constraint)
    probe = f"SELECT COUNT(*), COUNT(*) FROM {source} WHERE {among} AND "
    asks = [complete, broken[-1]]
    parts = [
        Part(probe + ask, f"SELECT {columns} FROM {source} WHERE {among} AND {each}", sure=False)
        for ask, each in zip(asks, broken, strict=False)
    ]
    return Question(tuple(parts))


def unaskable(spelling: Spelling, asked: Asked) -> str | None:
    """Why some rows alone can't be asked, if that is so: one that is not found would pass for right."""
    if asked.only is None:
        return None
    sought: list[tuple[Table, Sequence[ScanColumn], tuple[Key, ...]]] = [(asked.table, asked.key, asked.only.keys)]
    for constraint in asked.constraints:
        if constraint.reference is not None:
            parents = asked.only.parents.get(constraint.name, ())
            sought.append((asked.table, exact_columns(asked.table, constraint.columns), parents))
    for table, columns, keys in sought:
        if keys and not (columns and all(spelling.dialect.finds(column) for column in columns)):
            names = ", ".join(column.name for column in columns)
            return f"single rows of {table.name} can't be found by {names or 'a key'}: check all of them"
    return None


def numbered(
    dialect: sql.Dialect, columns: Sequence[ScanColumn], source: str, condition: str, keys: Sequence[str]
) -> str:
    """`Spelling.alike` of engines that sort by all of a value."""
    listed = ", ".join(keys)
    each = (
        f"SELECT {sql.wires(dialect, columns)}, COUNT(*) OVER (PARTITION BY {listed}) AS n, "
        f"DENSE_RANK() OVER (ORDER BY {listed}) AS g FROM {source} WHERE {condition}"
    )
    names = ", ".join([*(f"c{place}" for place in range(len(columns))), "g"])
    return f"SELECT {names} FROM ({each}) AS w WHERE n > 1"


def as_parent(dialect: sql.Dialect, compared: str, parent: str, child: Column, value: str) -> str:
    """`Spelling.refers` of engines of which `compared` begins with the parent's column."""
    return dialect.literal(child, value) + compared.removeprefix(f"p.{dialect.quote(parent)}")


def named_source(dialect: sql.Dialect, table: TableName, alias: str | None) -> str:
    """A table in FROM, however it is read."""
    named = dialect.table(table)
    return named if alias is None else f"{named} AS {alias}"


def plainly_grouped(columns: str, source: str, condition: str, keys: Sequence[str]) -> str:
    return f"SELECT {columns} FROM {source} WHERE {condition} GROUP BY {', '.join(keys)}"


def _source(spelling: Spelling, asked: Asked) -> str:
    make = spelling.source if asked.only is None else spelling.indexed_source
    return make(asked.table.name)


def _among(spelling: Spelling, asked: Asked) -> str:
    if asked.only is None:
        return EVERY_ROW
    if not asked.only.keys:
        return "1 = 0"
    scan = Scan(asked.table, asked.key, tuple(range(len(asked.key))))
    return sql.among(spelling.dialect, scan, asked.only.keys)


def _among_or_referring(spelling: Spelling, asked: Asked, constraint: ConstraintInfo) -> str:
    parents = asked.only.parents.get(constraint.name, ()) if asked.only is not None else ()
    if not parents:
        return _among(spelling, asked)
    assert constraint.reference is not None
    columns = [asked.table.column(name) for name in constraint.columns]
    pairs = list(zip(constraint.compared, constraint.reference.columns, columns, strict=True))
    referring = [
        " AND ".join(spelling.refers(*pair, value) for pair, value in zip(pairs, key, strict=True)) for key in parents
    ]
    return "(" + " OR ".join([_among(spelling, asked), *(f"({each})" for each in referring)]) + ")"
