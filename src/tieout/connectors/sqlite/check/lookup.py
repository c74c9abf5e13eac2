"""Finds rows of an SQLite table by their keys, and entries of its indexes by the values they may have been made of."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.check import ChangedRow, FoundEntries, IndexInfo, Literals
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.connectors.sql import select
from tieout.connectors.sqlite.connection import connect
from tieout.connectors.sqlite.dialect import SQLiteDialect
from tieout.connectors.sqlite.errors import translated
from tieout.connectors.sqlite.snapshot import array_of
from tieout.errors import UnsupportedError
from tieout.model.tables import Table

_quote = SQLiteDialect().quote
_DIALECT = SQLiteDialect()
_AT_ONCE = 100
"""The number of parts of a compound SELECT; SQLite allows 500."""


@dataclass(frozen=True)
class SQLiteLookup:
    """`alone` forces a read of the table itself."""

    sees_dangling: ClassVar[bool] = True
    old_values_hint: ClassVar[str] = "CHECK TABLE looks at all of it"

    url: EndpointUrl
    table: Table
    address: tuple[ScanColumn, ...]
    columns: tuple[ScanColumn, ...]
    indexes: tuple[IndexInfo, ...]
    alone: str
    keyed_by_index: bool

    def rows(self, keys: Sequence[Literals]) -> Iterator[pa.RecordBatch]:
        wanted = f"VALUES {_tuples(keys)}"
        if not self.keyed_by_index:
            yield from self._rows(wanted, self.table.key)
            return
        # Only the rowid comes from an index: any other value might be the entry's, and not the row's.
        rowid = self.address[0].name
        named = f"SELECT {_quote(rowid)} AS rowid, {_named(self.table.key)} FROM {self._name}"
        found = f"SELECT t.rowid AS column1 FROM ({wanted}) AS w CROSS JOIN ({named}) AS t ON {_equal(self.table.key)}"
        yield from self._rows(found, [rowid])

    def rows_at(self, addresses: Sequence[str]) -> Iterator[pa.RecordBatch]:
        yield from self._rows(f"VALUES {_tuples([(str(int(each)),) for each in addresses])}", [self.address[0].name])

    def all_rows(self, keys: Sequence[Literals]) -> Iterator[pa.RecordBatch]:
        yield from self._rows(f"VALUES {_tuples(keys)}", self.table.key)

    def entries(self, number: int, rows: Sequence[ChangedRow], addresses: Sequence[str]) -> Iterator[FoundEntries]:
        index = self.indexes[number]
        columns = (*self.address, *(column.read for column in index.columns))
        with translated(self.url), closing(connect(self.url)) as connection:
            for statement in [*self._own(index, addresses), *self._before(index, rows)]:
                _require(connection, index, statement)
                for batch in _batches(connection, statement, columns):
                    yield FoundEntries(batch, batch.num_rows)

    @property
    def _name(self) -> str:
        return _DIALECT.table(self.table.name)

    def _rows(self, wanted: str, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        columns = (*self.address, *self.columns)
        # SQL that quote() returns for a value is that value again.
        addresses = " || ',' || ".join(f"quote({_quote(column.name)})" for column in self.address)
        statement = self._joined(wanted, names, f"{select.wires(_DIALECT, columns)}, {addresses} AS addresses")
        with translated(self.url), closing(connect(self.url)) as connection:
            yield from _batches(connection, statement, columns)

    def _joined(self, wanted: str, names: Sequence[str], selected: str) -> str:
        """The rows of the table itself that equal `wanted` in these columns; `selected` comes first."""
        named = f"SELECT {selected}, {_named(names)} FROM {self._name} {self.alone}"
        return f"SELECT t.* FROM ({wanted}) AS w CROSS JOIN ({named}) AS t ON {_equal(names)}"

    def _own(self, index: IndexInfo, addresses: Sequence[str]) -> Iterator[str]:
        """Entries for the current values of rows. One statement reads both, so a value of any class finds itself."""
        if not addresses:
            return
        places = [f"a{place}" for place in range(len(self.address))]
        values = [f"k{place}" for place in range(len(index.columns))]
        parts = [*(_quote(column.name) for column in self.address), *self._values(index)]
        selected = ", ".join(f"{part} AS {name}" for part, name in zip(parts, [*places, *values], strict=True))
        wanted = f"VALUES {_tuples([(each,) for each in addresses])}"
        rows = self._joined(wanted, [column.name for column in self.address], selected)
        entries = f"SELECT {selected} FROM {self._name} {self._through(index)}{_where(index)}"
        same = " AND ".join([*(f"e.{name} IS r.{name}" for name in values), *(f"e.{a} = r.{a}" for a in places)])
        found = ", ".join(f"e.{name}" for name in [*places, *values])
        yield f"SELECT {found} FROM ({rows}) AS r CROSS JOIN ({entries}) AS e ON {same}"

    def _before(self, index: IndexInfo, rows: Sequence[ChangedRow]) -> Iterator[str]:
        """Entries for earlier values of rows."""
        selected = ", ".join([*(_quote(column.name) for column in self.address), *self._values(index)])
        source = f"SELECT {selected} FROM {self._name} {self._through(index)} WHERE "
        held = [f"({index.where}\n)"] if index.where else []
        parts = []
        for row in rows:
            for image in row.before:
                if all(column.name in image for column in index.columns):
                    same = [f"{_quote(column.name)} IS {image[column.name]}" for column in index.columns]
                    if not self.keyed_by_index:
                        same += [f"{_quote(n)} = {v}" for n, v in zip(self.table.key, row.key, strict=True)]
                    parts.append(source + " AND ".join([*held, *same]))
        for start in range(0, len(parts), _AT_ONCE):
            yield " UNION ALL ".join(parts[start : start + _AT_ONCE])

    def _values(self, index: IndexInfo) -> list[str]:
        return [select.reference(_DIALECT, column.read) for column in index.columns]

    def _through(self, index: IndexInfo) -> str:
        return f"INDEXED BY {_quote(index.name)}"


def _tuples(values: Sequence[Literals]) -> str:
    return ", ".join(f"({', '.join(each)})" for each in values)


def _named(names: Sequence[str]) -> str:
    return ", ".join(f"{_quote(name)} AS x{place}" for place, name in enumerate(names, 1))


def _equal(names: Sequence[str]) -> str:
    return " AND ".join(f"t.x{place} = w.column{place}" for place, _ in enumerate(names, 1))


def _where(index: IndexInfo) -> str:
    return f" WHERE ({index.where}\n)" if index.where else ""


def _require(connection: sqlite3.Connection, index: IndexInfo, statement: str) -> None:
    """Raises UnsupportedError unless SQLite looks entries up in the index, and in nothing else."""
    steps = [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
    concerned = [step for step in steps if step.startswith(("SEARCH", "SCAN")) and f" {index.name}" in step]
    if not concerned or not all(f"USING COVERING INDEX {index.name} (" in step for step in concerned):
        raise UnsupportedError(f"SQLite would not look up entries in the index alone: {'; '.join(steps)[:300]}")


def _batches(connection: sqlite3.Connection, statement: str, columns: Sequence[ScanColumn]) -> Iterator[pa.RecordBatch]:
    """The result as batches. Rows have one more column, their quoted address, and perhaps others."""
    rows = connection.execute(statement).fetchall()
    if not rows:
        return
    found = list(zip(*rows, strict=True))
    arrays = [array_of(column, list(values)) for column, values in zip(columns, found, strict=False)]
    if len(found) > len(columns):
        arrays.append(pa.array(found[len(columns)], pa.large_string()))
    yield pa.RecordBatch.from_arrays(arrays, names=[f"c{place}" for place in range(len(arrays))])
