"""Finds the rows of a PostgreSQL table that violate constraints, in the heap."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.check.catalog import indexes_of
from tieout.connectors.postgres.check.heap import ADDRESS, ADDRESS_SQL, HEAP_ONLY, block_parts
from tieout.connectors.postgres.connection import connect, libpq_url
from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.connectors.postgres.endpoint import PostgresEndpoint
from tieout.connectors.postgres.errors import translated
from tieout.connectors.postgres.snapshot import unwrapped
from tieout.connectors.protocols.check import IndexColumn
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.connectors.protocols.paths import (
    NotCheckable,
    OnlyRows,
    ViolationQuery,
    Violations,
    exact_columns,
    exact_key,
)
from tieout.connectors.sql.connection_cache import lease
from tieout.connectors.sql.constraints import EVERY_ROW, ConstraintDialect, ConstraintScan, queries, refusal
from tieout.errors import TieoutError
from tieout.model.constraints import ConstraintInfo
from tieout.model.tables import TableName

if TYPE_CHECKING:
    import pyarrow as pa

_DIALECT = PostgresDialect()
_READS_ONLY = {"default_transaction_read_only": "on"}
# Otherwise the planner would trust a valid CHECK instead of reading rows, and the index of the key that is checked.
_ROWS_ONLY = {**_READS_ONLY, **HEAP_ONLY, "constraint_exclusion": "off"}
_HEAP_NODES = ("Seq Scan", "Tid Range Scan")
_MOST_PARTS = 256

_BLOCKS = """
SELECT pg_relation_size(c.oid) / current_setting('block_size')::int8
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s"""

_RELATION_KIND = """
SELECT c.relkind::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s"""


@dataclass(frozen=True)
class PostgresQueryRunner:
    url: EndpointUrl
    through_indexes: bool = False

    def rows(self, statement: str, columns: Sequence[ScanColumn]) -> Iterator[pa.RecordBatch]:
        with translated(self.url), lease(("asking", self._connection_url), self._connect) as connection:
            with connection.cursor() as cursor:
                cursor.execute(statement)
                for batch in cursor.fetch_record_batch():
                    yield unwrapped(batch)

    def numbers(self, statement: str) -> tuple[int, int]:
        with translated(self.url), lease(("asking", self._connection_url), self._connect) as connection:
            with connection.cursor() as cursor:
                cursor.execute(statement)
                rows, broken = cursor.fetchone()
        return int(rows), int(broken)

    @property
    def settings(self) -> dict[str, str]:
        return _READS_ONLY if self.through_indexes else _ROWS_ONLY

    @property
    def _connection_url(self) -> str:
        return libpq_url(self.url, "tieout executor", self.settings)

    def _connect(self) -> Any:
        from tieout.connectors.postgres.arrow import ArrowConnection

        return ArrowConnection(self._connection_url)


@dataclass(frozen=True)
class PostgresConstraints(ConstraintDialect):
    """`whole` are partitioned parents. For other parents, tables that inherit from them don't count in a reference."""

    whole: frozenset[TableName] = frozenset()

    @property
    def dialect(self) -> PostgresDialect:
        return _DIALECT

    def source(self, table: TableName, alias: str | None = None) -> str:
        return f"{'' if table in self.whole else 'ONLY '}{self.named_source(table, alias)}"

    def indexed_source(self, table: TableName, alias: str | None = None) -> str:
        return self.source(table, alias)

    def is_null(self, expression: str) -> str:
        # From PostgreSQL 17 on, the planner replaces IS NULL on a NOT NULL column by false.
        return f"(num_nulls({expression}) > 0)"

    def opaque(self, key: str) -> str:
        return key

    def grouped(self, columns: str, source: str, condition: str, keys: Sequence[str]) -> str:
        # OFFSET 0 is a fence: otherwise the planner drops GROUP BY columns if others are unique.
        names = [f"k{place}" for place in range(len(keys))]
        each = ", ".join(f"{key} AS {name}" for key, name in zip(keys, names, strict=True))
        fenced = f"SELECT {each} FROM {source} WHERE {condition} OFFSET 0"
        return f"SELECT {columns} FROM ({fenced}) AS k GROUP BY {', '.join(names)}"


def find_violations(
    endpoint: PostgresEndpoint, constraints: Sequence[ConstraintInfo], only: OnlyRows | None
) -> Violations | NotCheckable:
    (table, *_) = (constraint.table for constraint in constraints)
    values = _values(endpoint, constraints)
    scan = ConstraintScan(table, tuple(constraints), (_ADDRESS,), exact_key(table), values, only)
    runner = PostgresQueryRunner(endpoint.url, through_indexes=only is not None)
    dialect = _dialect(endpoint, constraints)
    if reason := refusal(dialect, scan):
        return NotCheckable(reason)
    found = queries(dialect, scan, _ranges(endpoint, table.name, only))
    evidence = "the rows that were asked for"
    if only is None:
        try:
            evidence = _proven(runner, dict.fromkeys([found.parts[0], found.parts[-1]]))
        except TieoutError as error:
            return NotCheckable(str(error))
        except _ReadOtherwise as otherwise:
            return NotCheckable(f"the planner does not read the rows from the heap: {otherwise}")
    return Violations(scan.constraints, runner, scan.address, scan.key, scan.values, found.marks, found.parts, evidence)


_ADDRESS = ScanColumn(ADDRESS.column, ADDRESS.kind, ADDRESS_SQL)


def _values(endpoint: PostgresEndpoint, constraints: Sequence[ConstraintInfo]) -> tuple[ScanColumn, ...]:
    """The columns of the constraints, or the expressions of an index."""
    (first, *_) = constraints
    if first.index is not None:
        (index,) = (each for each in indexes_of(endpoint, first.table) if each.name == first.index)
        return tuple(_named(column) for column in index.columns if not column.included)
    names = dict.fromkeys(name for constraint in constraints for name in constraint.columns)
    return tuple(exact_columns(first.table, list(names)))


def _named(column: IndexColumn) -> ScanColumn:
    """Named by the text of the expression: the index's own name for it says little."""
    return ScanColumn(replace(column.read.column, name=column.name), column.read.kind, column.read.expression)


def _dialect(endpoint: PostgresEndpoint, constraints: Sequence[ConstraintInfo]) -> PostgresConstraints:
    parents = {constraint.reference.parent for constraint in constraints if constraint.reference is not None}
    kinds = {parent: endpoint.all(_RELATION_KIND, [parent.schema, parent.name])[0][0] for parent in parents}
    return PostgresConstraints(frozenset(parent for parent, kind in kinds.items() if kind == "p"))


def _ranges(endpoint: PostgresEndpoint, table: TableName, only: OnlyRows | None) -> list[str]:
    if only is not None:
        return [EVERY_ROW]
    ((blocks,),) = endpoint.all(_BLOCKS, [table.schema, table.name])
    found = []
    for part in block_parts(int(blocks), _MOST_PARTS):
        end = "" if part.high is None else f" AND ctid < {quoting.row_place(part.high, 0)}"
        found.append(f"ctid >= {quoting.row_place(part.low, 0)}{end}")
    return found


class _ReadOtherwise(Exception):
    """The plan does not read the rows themselves."""


def _proven(runner: PostgresQueryRunner, parts: Iterable[ViolationQuery]) -> str:
    """The scans by which the planner reads all of these parts."""
    read: dict[str, None] = {}
    with translated(runner.url), connect(runner.url, "tieout driver", runner.settings) as connection:
        for statement in [statement for part in parts for statement in (part.probe, part.listing)]:
            (plan,) = connection.execute(f"EXPLAIN (FORMAT JSON) {statement}").fetchone()
            scans = list(_scans(plan[0]["Plan"]))
            if not scans:
                raise _ReadOtherwise("it reads no table")
            read.update(dict.fromkeys(scans))
    return ", ".join(read)


def _scans(node: dict[str, Any]) -> Iterator[str]:
    if "One-Time Filter" in node:
        raise _ReadOtherwise(f"{node['Node Type']}, One-Time Filter {node['One-Time Filter']}")
    if "Relation Name" in node:
        words = f"{node['Node Type']} on {node['Relation Name']}"
        if node["Node Type"] not in _HEAP_NODES:
            raise _ReadOtherwise(words)
        yield words
    for child in node.get("Plans", ()):
        yield from _scans(child)
