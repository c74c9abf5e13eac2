"""Finds rows of an SQLite file that break constraints, in the tables themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.connectors.protocols.paths import NotCheckable, OnlyRows, Violations
from tieout.connectors.sql.constraints import ConstraintDialect, ConstraintScan, queries, refusal
from tieout.connectors.sqlite.check.catalog import address_of, indexes_of, is_without_rowid, rows_alone, scan_column
from tieout.connectors.sqlite.connection import connect
from tieout.connectors.sqlite.dialect import SQLiteDialect
from tieout.connectors.sqlite.endpoint import SQLiteEndpoint
from tieout.connectors.sqlite.errors import translated
from tieout.connectors.sqlite.snapshot import array_of
from tieout.errors import TieoutError
from tieout.model.constraints import ConstraintInfo
from tieout.model.tables import Column, Table, TableName

if TYPE_CHECKING:
    import pyarrow as pa

_DIALECT = SQLiteDialect()
_BATCH = 20_000


@dataclass(frozen=True)
class SQLiteQueryRunner:
    url: EndpointUrl

    def rows(self, statement: str, columns: Sequence[ScanColumn]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        names = [f"c{place}" for place in range(len(columns))]
        with translated(self.url), closing(connect(self.url)) as connection:
            cursor = connection.execute(statement)
            while rows := cursor.fetchmany(_BATCH):
                arrays = [array_of(c, list(v)) for c, v in zip(columns, zip(*rows, strict=True), strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, names=names)

    def numbers(self, statement: str) -> tuple[int, int]:
        with translated(self.url), closing(connect(self.url)) as connection:
            rows, broken = connection.execute(statement).fetchone()
        return int(rows), int(broken)


@dataclass(frozen=True)
class SQLiteConstraints(ConstraintDialect):
    """`alone` has, for each table, the SQL that forces a read of the table itself."""

    alone: Mapping[TableName, str]

    @property
    def dialect(self) -> SQLiteDialect:
        return _DIALECT

    def source(self, table: TableName, alias: str | None = None) -> str:
        return f"{self.indexed_source(table, alias)} {self.alone[table]}"

    def is_null(self, expression: str) -> str:
        # SQLite takes IS NULL of a NOT NULL column for false before it reads a row.
        return f"(typeof({expression}) = 'null')"

    # SQLite takes TRUE and FALSE for columns of a table that has such names.

    def is_true(self, condition: str) -> str:
        return f"coalesce({condition} AND 1, 0)"

    def is_false(self, condition: str) -> str:
        return f"coalesce(NOT {condition}, 0)"

    def opaque(self, key: str) -> str:
        # Without it, SQLite would not sort rows that come in the order of the key, and not find what is out of order.
        return f"+{key}"

    def without_parent(self, constraint: ConstraintInfo) -> str:
        assert constraint.reference is not None
        parent = self.source(constraint.reference.parent, "p")
        theirs = [f"p.{_DIALECT.quote(name)}" for name in constraint.reference.columns]
        mine = [each.removeprefix(f"{name} = ") for each, name in zip(constraint.compared, theirs, strict=True)]
        # With a condition, SQLite builds a list of its own. Without one, it would use an index, whatever the statement
        # says.
        complete = " AND ".join(f"NOT {self.is_null(each)}" for each in theirs)
        return f"({', '.join(mine)}) NOT IN (SELECT {', '.join(theirs)} FROM {parent} WHERE {complete})"

    def refers(self, compared: str, parent: str, child: Column, value: str) -> str:
        # Only numbers are looked up this way, which no collation affects, and the column's own affinity finds them in
        # texts.
        return f"c.{_DIALECT.quote(child.name)} = {_DIALECT.literal(child, value)}"


def find_violations(
    endpoint: SQLiteEndpoint, constraints: Sequence[ConstraintInfo], only: OnlyRows | None
) -> Violations | NotCheckable:
    (table, *_) = (constraint.table for constraint in constraints)
    address = () if is_without_rowid(endpoint, table) else address_of(endpoint, table)
    key = tuple(scan_column(table.column(name)) for name in table.key)
    scan = ConstraintScan(table, tuple(constraints), address, key, _values(endpoint, constraints), only)
    try:
        dialect = SQLiteConstraints(_alone(endpoint, constraints))
        if reason := refusal(dialect, scan):
            return NotCheckable(reason)
        found = queries(dialect, scan)
        evidence = "the rows that were asked for"
        if only is None:
            statements = [statement for part in found.parts for statement in (part.probe, part.listing)]
            evidence = _proven(endpoint, statements, scan.aliases)
    except TieoutError as error:
        return NotCheckable(str(error))
    except _ReadOtherwise as otherwise:
        return NotCheckable(f"SQLite would not read the tables themselves: {otherwise}")
    return Violations(
        scan.constraints,
        SQLiteQueryRunner(endpoint.url),
        scan.address,
        scan.key,
        scan.values,
        found.marks,
        found.parts,
        evidence,
    )


def _values(endpoint: SQLiteEndpoint, constraints: Sequence[ConstraintInfo]) -> tuple[ScanColumn, ...]:
    (first, *_) = constraints
    if first.index is not None:
        (index,) = (each for each in indexes_of(endpoint, first.table) if each.name == first.index)
        return tuple(column.read for column in index.columns)
    names = dict.fromkeys(name for constraint in constraints for name in constraint.columns)
    return tuple(scan_column(first.table.column(name)) for name in names)


def _alone(endpoint: SQLiteEndpoint, constraints: Sequence[ConstraintInfo]) -> dict[TableName, str]:
    (table, *_) = (constraint.table for constraint in constraints)
    tables: list[Table] = [table]
    tables += endpoint.describe([each.reference.parent for each in constraints if each.reference is not None])
    return {each.name: rows_alone(endpoint, each) for each in tables}


class _ReadOtherwise(Exception):
    """The plan does not read the rows themselves."""


def _proven(endpoint: SQLiteEndpoint, statements: Sequence[str], aliases: Mapping[str, str]) -> str:
    """Summarizes how SQLite reads the tables of all statements."""
    read: dict[str, None] = {}
    for statement in statements:
        for _, _, _, step in endpoint.all(f"EXPLAIN QUERY PLAN {statement}"):
            if " USING " in step or step.startswith("SEARCH"):
                raise _ReadOtherwise(step)
            if step.startswith("SCAN") and step not in _OWN_STEPS and "subquery" not in step:
                name = step.removeprefix("SCAN ")
                read[f"SCAN {aliases.get(name, name)}"] = None
    return ", ".join(read)


_OWN_STEPS = ("SCAN g", "SCAN w", "SCAN CONSTANT ROW")
