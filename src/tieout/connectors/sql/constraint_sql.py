"""The statements that find rows which break constraints, as every engine is asked them.

Nothing may be answered from the constraint itself, nor from an index: each engine spells the statements so that it has
to read the rows, and proves it from its plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tieout.connectors.protocols.endpoint import Scan, ScanColumn
from tieout.connectors.protocols.paths import OnlyRows, Part, exact_columns
from tieout.connectors.sql import select
from tieout.connectors.sql.constraint_dialect import Spelling
from tieout.model.canonical_kinds import Form, Kind
from tieout.model.constraints import ConstraintInfo, ConstraintKind, Match
from tieout.model.keys import Key
from tieout.model.tables import Column, Table
from tieout.model.types import LogicalType, TypeName

EVERY_ROW = "1 = 1"
_GROUP = ScanColumn(Column("group", LogicalType(TypeName.INTEGER, "group", 64)), Kind(Form.INTEGER))


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


def _of_rows(spelling: Spelling, asked: Asked, ranges: Sequence[str]) -> Question:
    broken = [_broken(spelling, constraint) for constraint in asked.constraints]
    marks = tuple(
        ScanColumn(Column("broken", LogicalType(TypeName.BOOLEAN, "boolean")), Kind(Form.BOOLEAN), each)
        for each in broken
    )
    anything = " OR ".join(f"({each})" for each in broken)
    source = _source(spelling, asked)
    columns = select.wires(spelling.dialect, (*asked.columns, *marks))
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
    alike = [_alike(constraint, f"FROM {source} WHERE {condition} AND {among}")]
    if not constraint.nulls_distinct:  # IN finds no NULL
        alike += [spelling.is_null(key) for key in constraint.compared]
    rows = f"SELECT {', '.join(f'{name} AS {alias}' for name, alias in named)} FROM {source} WHERE"
    found = f"{rows} {among} UNION {rows} {condition} AND ({' OR '.join(alike)})"
    same = " AND ".join(
        spelling.dialect.compared(column.column, name, "=", f"tieout_asked.{alias}")
        for column, (name, alias) in zip(asked.key, named, strict=True)
    )
    # Not JOIN … ON: of those, PostgreSQL does not tell the place of a row.
    return f"({found}) AS tieout_asked, {source}", f"{condition} AND {same}"


def _alike(constraint: ConstraintInfo, given: str) -> str:
    """Whether a row has the same key as one that is `given`."""
    keys = ", ".join(constraint.compared)
    if not constraint.equal:
        return f"({keys}) IN (SELECT {keys} {given})"
    names = [f"tieout_given{place}" for place in range(len(constraint.compared))]
    listed = ", ".join(f"{key} AS {name}" for key, name in zip(constraint.compared, names, strict=True))
    parts = zip(constraint.compared, constraint.equal, names, strict=True)
    same = " AND ".join(f"({key}) {equal} {name}" for key, equal, name in parts)
    return f"EXISTS (SELECT 1 FROM (SELECT {listed} {given}) AS tieout_given WHERE {same})"


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
    columns, among = select.wires(spelling.dialect, asked.columns), _among_or_referring(spelling, asked, constraint)
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


def _source(spelling: Spelling, asked: Asked) -> str:
    make = spelling.source if asked.only is None else spelling.indexed_source
    return make(asked.table.name)


def _among(spelling: Spelling, asked: Asked) -> str:
    if asked.only is None:
        return EVERY_ROW
    if not asked.only.keys:
        return "1 = 0"
    scan = Scan(asked.table, asked.key, tuple(range(len(asked.key))))
    return select.among(spelling.dialect, scan, asked.only.keys)


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
