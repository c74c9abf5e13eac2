"""What suites read tables with: scans of all columns, and rows as canonical text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tieout.canonical.decode import decode
from tieout.connectors.protocols.endpoint import Endpoint, Scan, ScanColumn
from tieout.model.canonical_kinds import Kind, common_kind
from tieout.model.tables import Table, TableName


def described(endpoint: Endpoint, name: str) -> Table:
    (table,) = endpoint.describe([TableName(endpoint.default_schema(), name)])
    return table


def scan_of(endpoint: Endpoint, name: str, where: str | None = None) -> Scan:
    """All columns; the key's first, if ranges can be cut in its order."""
    table = described(endpoint, name)
    columns = tuple(ScanColumn(column, kind_of(column)) for column in table.columns)
    key = tuple(table.column_names.index(part) for part in table.key)
    ordered = all(columns[place].column.order for place in key)
    return Scan(table, columns, key, key if ordered else (), where)


def kind_of(column: Any) -> Kind:
    kind = common_kind(column.type, column.type)
    assert isinstance(kind, Kind), column
    return kind


def texts(columns: Iterable[ScanColumn], batches: Iterable[Any]) -> list[tuple[str | None, ...]]:
    found = []
    for batch in batches:
        fields = [decode(c.kind, array) for c, array in zip(columns, batch.columns, strict=True)]
        found += [tuple(field.text(row) for field in fields) for row in range(batch.num_rows)]
    return found
