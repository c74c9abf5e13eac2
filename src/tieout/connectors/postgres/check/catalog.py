"""What PostgreSQL's catalog says of indexes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tieout.connectors.postgres.endpoint import PostgresEndpoint
from tieout.connectors.protocols.check import IndexColumn, IndexInfo
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.model.kinds import Form, Incomparable, Kind, common_kind
from tieout.model.tables import Column, Table

_INDEXES = """
SELECT c.oid, c.relname, m.amname, i.indisunique, i.indisprimary, i.indisvalid, i.indisready, i.indnkeyatts,
  pg_get_expr(i.indpred, i.indrelid), pg_get_indexdef(i.indexrelid), i.indoption::int2[],
  (SELECT array_agg(k.attnum = 0 ORDER BY k.place) FROM unnest(i.indkey) WITH ORDINALITY AS k(attnum, place)),
  (SELECT array_agg(pg_get_indexdef(i.indexrelid, k.place::int, false) ORDER BY k.place)
   FROM unnest(i.indkey) WITH ORDINALITY AS k(attnum, place)),
  (SELECT array_agg(a.attname ORDER BY k.place) FROM unnest(i.indkey) WITH ORDINALITY AS k(attnum, place)
   LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum AND k.attnum <> 0)
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
JOIN pg_class t ON t.oid = i.indrelid JOIN pg_namespace n ON n.oid = t.relnamespace
WHERE n.nspname = %s AND t.relname = %s ORDER BY c.relname"""

_DESCENDING, _NULLS_FIRST = 1, 2


def indexes_of(endpoint: PostgresEndpoint, table: Table) -> list[IndexInfo]:
    """The indexes of a table, in the order of their names."""
    rows = endpoint.all(_INDEXES, [table.name.schema, table.name.name])
    attributes = endpoint.columns_of([row[0] for row in rows])
    return [_info(row, attributes[row[0]], table) for row in rows]


def _info(row: tuple[Any, ...], attributes: Sequence[Column], table: Table) -> IndexInfo:
    _, name, method, unique, primary, valid, ready, keys, where, definition, options, computed, texts, names = row
    columns = []
    unchecked = _unchecked(method, valid=valid, ready=ready)
    for place, column in enumerate(attributes):
        kind = common_kind(column.type, column.type, exact_scale=True)
        # An entry has a copy of JSON as it was written.
        if isinstance(kind, Kind) and kind.form is Form.JSON and column.type.native == "json":
            kind = Kind(Form.TEXT)
        if isinstance(kind, Kind) and kind.form is Form.JSON_ARRAY:
            kind = Kind(Form.ARRAY)
        if isinstance(kind, Incomparable):
            unchecked = unchecked or f"{texts[place]}: {kind.reason}"
            continue
        columns.append(
            IndexColumn(
                names[place] or texts[place],
                ScanColumn(column, kind, texts[place] if computed[place] else None),
                included=place >= keys,
                descending=place < keys and bool(options[place] & _DESCENDING),
                nulls_first=place < keys and bool(options[place] & _NULLS_FIRST),
            )
        )
    return IndexInfo(name, table, tuple(columns), unique, primary, where, definition, unchecked)


def _unchecked(method: str, *, valid: bool, ready: bool) -> str | None:
    if method != "btree":
        return f"it is a {method} index: only B-trees are checked"
    if not ready:
        return "it is being built, or was left unready: no writer keeps it up to date"
    if not valid:
        return "it is invalid: it was never finished, and no reader uses it"
    return None
