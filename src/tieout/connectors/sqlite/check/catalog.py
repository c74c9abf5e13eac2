"""What SQLite says of indexes. Of expressions and conditions it has the words that made the index, and no more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tieout.connectors.protocols.check import IndexColumn, IndexInfo
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.connectors.sqlite import quoting
from tieout.connectors.sqlite.dialect import SQLiteDialect
from tieout.connectors.sqlite.endpoint import SQLiteEndpoint
from tieout.connectors.sqlite.tokens import Token, joined, split_at_commas, stripped, tokens
from tieout.model.canonical_kinds import Form, Incomparable, Kind, common_kind
from tieout.model.tables import Column, Table
from tieout.model.types import LogicalType, TypeName

_DIALECT = SQLiteDialect()
_ROWID_NAMES = ("rowid", "_rowid_", "oid")
_EXPRESSION = -2
_ANY = LogicalType(TypeName.OPAQUE, "any")


def indexes_of(endpoint: SQLiteEndpoint, table: Table) -> list[IndexInfo]:
    """The indexes of a table, in the order of their names; not the table itself, if that is ordered by its key."""
    found = []
    name = _DIALECT.quote(table.name.name)
    for _, index, unique, origin, _ in endpoint.all(f"PRAGMA main.index_list({name})"):
        if origin == "pk" and is_without_rowid(endpoint, table):
            continue
        found.append(_info(endpoint, table, str(index), unique=bool(unique), primary=origin == "pk"))
    return sorted(found, key=lambda info: info.name)


_SPELT = frozenset({Form.DATE, Form.TIMESTAMP, Form.TIME, Form.UUID, Form.JSON})


def is_without_rowid(endpoint: SQLiteEndpoint, table: Table) -> bool:
    listed = {row[1]: row for row in endpoint.all("PRAGMA main.table_list")}
    return bool(listed[table.name.name][4])


def is_rowid(table: Table) -> bool:
    """Whether the key is the rowid under another name: the only column that SQLite itself orders by its numbers."""
    return len(table.key) == 1 and table.column(table.key[0]).order == "numeric"


def address_of(endpoint: SQLiteEndpoint, table: Table) -> tuple[ScanColumn, ...]:
    """What an entry has of its row: the rowid, or the key of a table without one. Empty if no name is left for it."""
    if is_without_rowid(endpoint, table):
        return tuple(scan_column(table.column(name)) for name in table.key)
    taken = {column.name.casefold() for column in table.columns}
    for name in _ROWID_NAMES:
        if name not in taken:
            return (
                ScanColumn(Column(name, LogicalType(TypeName.INTEGER, "rowid"), nullable=False), Kind(Form.INTEGER)),
            )
    return ()


def rows_alone(endpoint: SQLiteEndpoint, table: Table) -> str:
    """What forces a read of the table itself. Without a rowid, NOT INDEXED does not: an index that has all is read."""
    if not is_without_rowid(endpoint, table):
        return "NOT INDEXED"
    listed = endpoint.all(f"PRAGMA main.index_list({_DIALECT.quote(table.name.name)})")
    (own,) = (row[1] for row in listed if row[3] == "pk")
    return f"INDEXED BY {_DIALECT.quote(own)}"


def scan_column(column: Column, expression: str | None = None) -> ScanColumn:
    """As it is stored: two spellings of a day, a UUID or a document are one value to people, and two keys to SQLite."""
    kind = common_kind(column.type, column.type)
    if isinstance(kind, Incomparable):
        kind = Kind(Form.OPAQUE)
    elif kind.form in _SPELT:
        kind = Kind(Form.TEXT)
    return ScanColumn(column, kind, expression)


def _info(endpoint: SQLiteEndpoint, table: Table, name: str, *, unique: bool, primary: bool) -> IndexInfo:
    rows = endpoint.all(f"PRAGMA main.index_xinfo({_DIALECT.quote(name)})")
    known = quoting.text(name)
    definition = endpoint.all(f"SELECT sql FROM main.sqlite_master WHERE type = 'index' AND name = {known}")
    text = definition[0][0] if definition else None
    parts, where = index_words(text) if text else ([], None)
    columns = tuple(_column(table, row, parts) for row in rows if row[5])
    return IndexInfo(name, table, columns, unique, primary, where, text or "")


def _column(table: Table, row: tuple[Any, ...], parts: Sequence[str]) -> IndexColumn:
    place, number, name, descending = row[:4]
    if number == _EXPRESSION:
        text = parts[place]
        return IndexColumn(text, scan_column(Column(text, _ANY), text), descending=bool(descending))
    return IndexColumn(str(name), scan_column(table.column(name)), descending=bool(descending))


def index_words(statement: str) -> tuple[list[str], str | None]:
    """The indexed columns and expressions of a CREATE INDEX, without order and collation; and its condition."""
    parts = tokens(statement)
    on = next(place for place, token in enumerate(parts) if token.depth == 0 and token.says("ON"))
    inside = [token for token in parts[on:] if token.depth > 0]
    listed = [joined(_expression(part)) for part in split_at_commas(inside, 1)]
    after = [place for place, token in enumerate(parts) if place > on and token.depth == 0 and token.says("WHERE")]
    return listed, joined(stripped(parts[after[0] + 1 :])) if after else None


def _expression(part: list[Token]) -> list[Token]:
    words = stripped(part)
    while len(words) > 1 and words[-1].says("ASC", "DESC"):
        words = stripped(words[:-1])
    if len(words) > 2 and words[-1].is_word and words[-3].says("COLLATE") and words[-3].depth == 1:
        words = stripped(words[:-3])
    return words
