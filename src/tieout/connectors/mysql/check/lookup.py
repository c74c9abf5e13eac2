"""Looks up rows of an InnoDB table by their keys, and index entries by the values of rows, now and before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.connection import connect, plan_of
from tieout.connectors.mysql.dialect import MySQLDialect
from tieout.connectors.mysql.errors import translated
from tieout.connectors.mysql.server_kind import ServerKind
from tieout.connectors.mysql.snapshot import zero_moments
from tieout.connectors.protocols.check import ChangedRow, FoundEntries, IndexInfo, Literals
from tieout.connectors.protocols.endpoint import Scan, ScanColumn
from tieout.connectors.sql import select
from tieout.connectors.sql.connection_cache import lease
from tieout.connectors.sql.rows_to_arrow import batch_of
from tieout.errors import UnsupportedError
from tieout.model.tables import Table

_AT_ONCE = 100
"""The most parts of a UNION."""
_PRIMARY = "FORCE INDEX (PRIMARY)"
_LOOKED_UP = {"eq_ref", "ref", "range"}


@dataclass(frozen=True)
class MySQLLookup:
    """A row's address is its key, and the table is the index on it."""

    keyed_by_index: ClassVar[bool] = False
    sees_dangling: ClassVar[bool] = True
    old_values_hint: ClassVar[str] = "SET GLOBAL binlog_row_image = FULL logs them"

    url: EndpointUrl
    server_kind: ServerKind
    table: Table
    address: tuple[ScanColumn, ...]
    columns: tuple[ScanColumn, ...]
    indexes: tuple[IndexInfo, ...]

    @property
    def _dialect(self) -> MySQLDialect:
        return MySQLDialect(self.server_kind, safe=True)

    def rows(self, keys: Sequence[Literals]) -> Iterator[pa.RecordBatch]:
        columns = (*self.address, *self.columns)
        name = self._dialect.table(self.table.name)
        statement = (
            f"SELECT {select.wires(self._dialect, columns)}, '' FROM {name} {_PRIMARY} WHERE {self._among(keys, name)}"
        )
        with translated(self.url), self._connection() as connection:
            yield from self._batches(connection, statement, columns)

    all_rows = rows

    def rows_at(self, addresses: Sequence[str]) -> Iterator[pa.RecordBatch]:
        raise UnsupportedError("the address of a row is its key")

    def entries(self, number: int, rows: Sequence[ChangedRow], hints: Sequence[str]) -> Iterator[FoundEntries]:
        index = self.indexes[number]
        columns = (*self.address, *(column.read for column in index.columns))
        with translated(self.url), self._connection() as connection:
            for statement in [*self._own(index, rows), *self._before(index, rows)]:
                _require(connection, index, statement)
                for batch in self._batches(connection, statement, columns):
                    yield FoundEntries(batch, batch.num_rows)

    def _own(self, index: IndexInfo, rows: Sequence[ChangedRow]) -> Iterator[str]:
        """Entries for the present values of rows. The statement reads both: a value of any type finds itself."""
        quote, name = self._dialect.quote, self._dialect.table(self.table.name)
        same = [f"e.{quote(column.name)} <=> r.{quote(column.name)}" for column in index.columns]
        same += [f"e.{quote(column)} = r.{quote(column)}" for column in self.table.key]
        wanted = self._selected(index, "e.")
        among = self._among([row.key for row in rows], "r")
        yield (
            f"SELECT STRAIGHT_JOIN {wanted} FROM {name} AS r {_PRIMARY} "
            f"JOIN {name} AS e {self._through(index)} ON {' AND '.join(same)} WHERE {among}"
        )

    def _before(self, index: IndexInfo, rows: Sequence[ChangedRow]) -> Iterator[str]:
        """Entries for earlier values of rows."""
        quote = self._dialect.quote
        name = self._dialect.table(self.table.name)
        source = f"SELECT {self._selected(index, '')} FROM {name} {self._through(index)} WHERE "
        parts = []
        for row in rows:
            for image in row.before:
                if all(column.name in image for column in index.columns):
                    same = [f"{quote(column.name)} <=> {image[column.name]}" for column in index.columns]
                    parts.append(source + " AND ".join([*same, self._is(row.key, "")]))
        for start in range(0, len(parts), _AT_ONCE):
            yield " UNION ALL ".join(parts[start : start + _AT_ONCE])

    def _selected(self, index: IndexInfo, table: str) -> str:
        """The address and the columns of an index, from the table with this alias."""
        columns = (*self.address, *(column.read for column in index.columns))
        wires = (self._dialect.wire(c, f"{table}{self._dialect.quote(c.name)}") for c in columns)
        return ", ".join(f"{wire} AS c{place}" for place, wire in enumerate(wires))

    def _through(self, index: IndexInfo) -> str:
        return f"FORCE INDEX ({self._dialect.quote(index.name)})"

    def _among(self, keys: Sequence[Literals], table: str) -> str:
        """Joined by OR: MySQL does not use an index for a list of row values."""
        return " OR ".join(f"({self._is(key, f'{table}.')})" for key in keys)

    def _is(self, key: Literals, table: str) -> str:
        """Not only `=`: for a row that can exist only once, EXPLAIN does not show which index the server uses."""
        names = [f"{table}{self._dialect.quote(name)}" for name in self.table.key]
        equal = [f"{name} = {value}" for name, value in zip(names[:-1], key[:-1], strict=True)]
        return " AND ".join([*equal, f"{names[-1]} >= {key[-1]}", f"{names[-1]} <= {key[-1]}"])

    def _batches(self, connection: Any, statement: str, columns: tuple[ScanColumn, ...]) -> Iterator[pa.RecordBatch]:
        with connection.cursor() as cursor:
            cursor.execute(statement)
            width, rows = len(cursor.description), cursor.fetchall()
        if rows:
            yield zero_moments(Scan(self.table, columns), batch_of(rows, width))

    def _connection(self) -> Any:
        return lease(("lookup", self.url), lambda: connect(self.url))


def _require(connection: Any, index: IndexInfo, statement: str) -> None:
    """Raises unless the server looks entries up in the index alone. A step that it knows to be empty does not count."""
    with connection.cursor() as cursor:
        steps = plan_of(cursor, statement)
    for step in steps:
        if step["table"] is None or str(step["table"]) in ("r",) or str(step["table"]).startswith("<union"):
            continue
        through = f"type {step['type']}, key {step['key']}, {step['Extra']}"
        if step["key"] != index.name or "Using index" not in str(step["Extra"]) or step["type"] not in _LOOKED_UP:
            raise UnsupportedError(f"the server would not look entries up in the index alone: {through}")
