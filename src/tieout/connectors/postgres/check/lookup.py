"""Looks up rows of a PostgreSQL table by their keys, and the rows that index entries lead to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from tieout.codecs.postgres_pages.heap_versions import OFFSETS
from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.check.exported_snapshot import cursor_at
from tieout.connectors.postgres.check.heap import ADDRESS, ADDRESS_SQL, HEAP_ONLY
from tieout.connectors.postgres.connection import connect
from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.connectors.postgres.errors import translated
from tieout.connectors.postgres.literals import log_literal
from tieout.connectors.postgres.snapshot import unwrapped
from tieout.connectors.protocols.check import ChangedRow, FoundEntries, IndexInfo, Literals
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.connectors.sql.select import reference, wires
from tieout.errors import UnsupportedError
from tieout.model.tables import Table

_DIALECT = PostgresDialect()
_BY_INDEX = {"enable_seqscan": "off"}
_BY_ENTRIES = {
    **_BY_INDEX,
    **dict.fromkeys(["enable_bitmapscan", "enable_indexonlyscan", "enable_sort", "enable_incremental_sort"], "off"),
}
_AT_ONCE = 100
"""How many parts a UNION has."""
_MOST_ENTRIES = 100_000
"""How many entries one statement may read: an index with few distinct values has too many for each."""


@dataclass(frozen=True)
class PostgresLookup:
    """Identifies an entry by the row that it leads to: a scan of its index returns that row, whatever its values are.

    An entry that leads to no row is invisible here.
    """

    keyed_by_index: ClassVar[bool] = True
    sees_dangling: ClassVar[bool] = False

    url: EndpointUrl
    table: Table
    columns: tuple[ScanColumn, ...]
    indexes: tuple[IndexInfo, ...]
    address: tuple[ScanColumn, ...] = (ADDRESS,)

    def rows(self, keys: Sequence[Literals]) -> Iterator[pa.RecordBatch]:
        yield from self._rows(self._among(keys), _BY_INDEX)

    def rows_at(self, addresses: Sequence[str]) -> Iterator[pa.RecordBatch]:
        places = ", ".join(quoting.row_place(*divmod(int(each), OFFSETS)) for each in addresses)
        yield from self._rows(f"ctid IN ({places})", _BY_INDEX)

    def all_rows(self, keys: Sequence[Literals]) -> Iterator[pa.RecordBatch]:
        yield from self._rows(self._among(keys), HEAP_ONLY)

    def entries(self, number: int, rows: Sequence[ChangedRow], hints: Sequence[str]) -> Iterator[FoundEntries]:
        index = self.indexes[number]
        known = [json.loads(each) for each in hints]
        own = pa.array([each[0] for each in known], pa.int64())
        probes = list(dict.fromkeys([*self._own(index, known), *_before(index, rows)]))
        for start in range(0, len(probes), _AT_ONCE):
            statement = " UNION ALL ".join(self._leading(index, each) for each in probes[start : start + _AT_ONCE])
            self._require(index, statement)
            for batch in self._read(statement, _BY_ENTRIES):
                # Many rows may have the same values as one of ours; their entries are correct.
                wanted = pc.or_(pc.is_in(batch.column(0), own), pc.invert(batch.columns[-1]))
                found = batch.select(range(batch.num_columns - 1)).filter(wanted)
                yield FoundEntries(found, batch.num_rows)

    @property
    def old_values_hint(self) -> str:
        return f"ALTER TABLE {quoting.shown(self.table.name)} REPLICA IDENTITY FULL puts them into the log"

    @property
    def _name(self) -> str:
        return _DIALECT.table(self.table.name)

    def _rows(self, condition: str, settings: dict[str, str]) -> Iterator[pa.RecordBatch]:
        # As text, a value of any type is exact, and finds itself again.
        values = ", ".join(f"{reference(_DIALECT, column)}::text" for column in self.columns)
        exact = f"json_build_array({ADDRESS_SQL}, {values})::text"
        columns = f"{ADDRESS_SQL} AS address, {wires(_DIALECT, self.columns)}, {exact}"
        yield from self._read(f"SELECT {columns} FROM ONLY {self._name} WHERE {condition}", settings)

    def _read(self, statement: str, settings: dict[str, str]) -> Iterator[pa.RecordBatch]:
        with cursor_at(self.url, None, settings, arrow=True) as cursor:
            cursor.execute(statement)
            for batch in cursor.fetch_record_batch():
                if batch.num_rows:
                    yield unwrapped(batch)

    def _among(self, keys: Sequence[Literals]) -> str:
        columns = [self.table.column(name) for name in self.table.key]
        names = [_DIALECT.quote(name) for name in self.table.key]
        if any(column.operators for column in columns):
            cases = [
                " AND ".join(_DIALECT.compared(c, n, "=", v) for c, n, v in zip(columns, names, key, strict=True))
                for key in keys
            ]
            return "(" + " OR ".join(f"({case})" for case in cases) + ")"
        if len(names) == 1:
            return f"{names[0]} IN ({', '.join(key[0] for key in keys)})"
        values = ", ".join(f"({', '.join(key)})" for key in keys)
        return f"({', '.join(names)}) IN ({values})"

    def _own(self, index: IndexInfo, known: Sequence[Sequence[Any]]) -> Iterator[Literals]:
        """The entries that the index should have for rows; also for rows that a partial index should not contain."""
        places = {(c.name if c.expression is None else "", c.expression): n for n, c in enumerate(self.columns)}
        wanted = [places[c.read.name if c.read.expression is None else "", c.read.expression] for c in index.columns]
        for each in known:
            yield tuple(log_literal(each[1 + place]) for place in wanted)

    def _leading(self, index: IndexInfo, probe: Literals) -> str:
        """SQL for the rows that entries with these values lead to, with the values of the entries.

        Where the server considers the values equal, the entry has the row's: 1.0 finds 1.00, and only one is stored.
        """
        parts, selected, same = [], [], []
        for place, (column, value) in enumerate(zip(index.columns, probe, strict=True)):
            own, kind = reference(_DIALECT, column.read), column.read.column
            wanted = value if place else _any(value)
            parts.append(f"{own} IS NULL" if value == "NULL" else _DIALECT.compared(kind, own, "=", wanted))
            same.append(f"NOT {_DIALECT.differ(kind, own, value)}")
            held = f"(CASE WHEN {same[-1]} THEN {own} ELSE {value} END)"
            selected.append(f"{_DIALECT.wire(column.read, held)} AS c{place}")
        if index.where:
            parts.append(f"({index.where})")
            same.append(f"({index.where}) IS TRUE")
        columns = ", ".join([f"{ADDRESS_SQL} AS address", *selected, f"({' AND '.join(same)}) AS same"])
        first = reference(_DIALECT, index.columns[0].read)
        return f"(SELECT {columns} FROM ONLY {self._name} WHERE {' AND '.join(parts)} ORDER BY {first})"

    def _require(self, index: IndexInfo, statement: str) -> None:
        """Raises unless each part is a scan of this index without a filter."""
        with translated(self.url), connect(self.url, "tieout executor", _BY_ENTRIES) as connection:
            (plan,) = connection.execute(f"EXPLAIN (FORMAT JSON) {statement}").fetchone()
        node = plan[0]["Plan"]
        for scan in _leaves(node):
            if scan["Node Type"] != "Index Scan" or scan["Index Name"] != index.name or "Filter" in scan:
                other = scan.get("Index Name", scan["Node Type"])
                hint = f"CHECK TABLE … INDEX {index.name} checks it whole"
                raise UnsupportedError(f"the planner looks up these rows by {other} instead: {hint}")
        if node["Plan Rows"] > _MOST_ENTRIES:
            hint = f"CHECK TABLE … INDEX {index.name} checks it whole"
            raise UnsupportedError(f"about {node['Plan Rows']:,} entries have the values of these rows: {hint}")


def _any(value: str) -> str:
    """= ANY of an array: the planner then does not know that the value is constant, and has to order the rows by it.

    With an index that begins with another column that would need a sort, and sorts are off.
    """
    return f"ANY ({quoting.array_of_one(quoting.unquoted(value))})"


def _before(index: IndexInfo, rows: Sequence[ChangedRow]) -> Iterator[Literals]:
    """Entries that the index may still have for earlier versions of rows."""
    for row in rows:
        for image in row.before:
            if all(column.read.expression is None and column.name in image for column in index.columns):
                yield tuple(image[column.name] for column in index.columns)


def _leaves(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The scans of a plan. A node above them that does more than pass rows on counts as one."""
    if node["Node Type"] not in ("Append", "Subquery Scan") or "Filter" in node:
        yield node
        return
    for each in node["Plans"]:
        yield from _leaves(each)
