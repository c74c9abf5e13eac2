"""The tables that a log's rows belong to, while it is being read: those that are asked for, and their rows events."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

from tieout.connectors.mysql.binlog import kinds
from tieout.connectors.mysql.binlog.compressed import inflated_event
from tieout.connectors.mysql.binlog.cursor import Cursor
from tieout.connectors.mysql.binlog.layout import Layout, Layouts
from tieout.connectors.mysql.binlog.row_decoder import Decoded, Decoder
from tieout.connectors.mysql.binlog.statements import Query
from tieout.connectors.mysql.binlog.table_map import table_id, table_name
from tieout.errors import ReadError
from tieout.model.row_changes import ChangeKind, Rows
from tieout.model.server_words import told_of
from tieout.model.tables import TableName


class Wanted:
    """`folded`: the server takes names in any case for the same table (lower_case_table_names)."""

    def __init__(self, tables: frozenset[TableName], folded: bool) -> None:
        self._folded = folded
        self._tables = {self._key(table): table for table in tables}
        self._schemas = {table.schema for table in tables}

    def named(self, name: TableName) -> TableName | None:
        """The table of this name, if it is wanted."""
        return self._tables.get(self._key(name))

    @property
    def tables(self) -> Iterable[TableName]:
        return self._tables.values()

    def in_schema(self, schema: str) -> list[TableName]:
        wanted = self._key(TableName(schema, "")).schema
        return [table for key, table in self._tables.items() if key.schema == wanted]

    def concerns(self, query: Query, text: str | None = None) -> bool:
        """Whether a statement could change their rows: it runs in their schema, or names it."""
        where = f"{query.schema} {query.raw.decode(errors='replace') if text is None else text}"
        return any(_may_name(where, schema) for schema in self._schemas)

    def perhaps_in(self, text: str) -> list[TableName]:
        """Those whose names may be in a text that nobody can cut into words."""
        return [table for table in self.tables if _may_name(text, table.name)]

    def _key(self, name: TableName) -> TableName:
        return TableName(name.schema.lower(), name.name.lower()) if self._folded else name


def _may_name(text: str, name: str) -> bool:
    """Whether a name may stand in a text, in any case and any quotes."""
    if "\ufffd" in text and not name.isascii():
        return True  # some of its characters could not be read
    spellings = {name.replace(quote, quote * 2) for quote in '\0`"]'}
    # Digits may stand before it: those of a version whose code it is.
    return any(
        re.search(rf"(?<![A-Za-z_$\x80-\x9f\xa1-\ufffc]){re.escape(spelling)}(?![\w$])", text, re.IGNORECASE)
        for spelling in spellings
    )


@dataclass(frozen=True, slots=True)
class _Shape:
    kind: ChangeKind
    extended: bool = False
    compressed: bool = False


_INSERT, _UPDATE, _DELETE = ChangeKind.INSERT, ChangeKind.UPDATE, ChangeKind.DELETE
_SHAPES = {
    kinds.WRITE_V1: _Shape(_INSERT),
    kinds.UPDATE_V1: _Shape(_UPDATE),
    kinds.DELETE_V1: _Shape(_DELETE),
    kinds.WRITE: _Shape(_INSERT, extended=True),
    kinds.UPDATE: _Shape(_UPDATE, extended=True),
    kinds.DELETE: _Shape(_DELETE, extended=True),
    kinds.WRITE_COMPRESSED_V1: _Shape(_INSERT, compressed=True),
    kinds.UPDATE_COMPRESSED_V1: _Shape(_UPDATE, compressed=True),
    kinds.DELETE_COMPRESSED_V1: _Shape(_DELETE, compressed=True),
    kinds.WRITE_COMPRESSED: _Shape(_INSERT, extended=True, compressed=True),
    kinds.UPDATE_COMPRESSED: _Shape(_UPDATE, extended=True, compressed=True),
    kinds.DELETE_COMPRESSED: _Shape(_DELETE, extended=True, compressed=True),
}


def rows_of(layout: Layout, kind: int, body: bytes) -> Rows:
    """The event's rows. Their table's number is in its first six bytes, flags in the next two."""
    shape = _SHAPES[kind]
    at = 8 + (int.from_bytes(body[8:10], "little") if shape.extended else 0)
    cursor = Cursor(body, at)
    width = cursor.number()
    if width != layout.width:
        raise ReadError(f"{layout.table.name}: the log has rows of {width} columns, and described {layout.width}")
    bitmap = (width + 7) // 8
    present = [cursor.take(bitmap) for _ in range(2 if shape.kind is _UPDATE else 1)]
    data, at = (inflated_event(body[cursor.at :]), 0) if shape.compressed else (body, cursor.at)
    _, rows, before = _decoded(layout, layout.decoder(*present), data, at)
    every = (1 << width) - 1
    whole = int.from_bytes(present[-1], "little") & every == every
    return Rows(layout.table, shape.kind, rows, before if shape.kind is _UPDATE else None, whole)


def _decoded(layout: Layout, decoder: Decoder, data: bytes, at: int) -> Decoded:
    try:
        decoded: Decoded = decoder.run(data, at, len(data))
    except UnicodeDecodeError as error:
        column = decoder.column_of(error)
        raise ReadError(f"{layout.table.name}: column {column} has bytes that are no text: {told_of(error)}") from None
    except (ValueError, LookupError, struct.error, zlib.error) as error:
        raise ReadError(f"{layout.table.name}: the log has rows that can't be decoded: {told_of(error)}") from None
    if decoded[0] != len(data):
        raise ReadError(f"{layout.table.name}: the log has rows that end elsewhere than their event")
    return decoded


_NO_TABLE = 0xFFFFFF
"""The number in an event that only ends a statement."""


class Tables:
    """Remembers what the log said of tables; the numbers it gives them are good until it gives them again."""

    def __init__(self, wanted: Wanted, layouts: Layouts) -> None:
        self._wanted = wanted
        self._layouts = layouts
        self._bodies: dict[int, bytes | None] = {}
        self._judged: dict[bytes, bool] = {}

    def add(self, body: bytes) -> None:
        """Takes a table map in."""
        wanted = self._judged.get(body)
        if wanted is None:
            wanted = self._judged[body] = self._wanted.named(table_name(body)) is not None
        self._bodies[table_id(body)] = body if wanted else None

    def rows(self, kind: int, body: bytes) -> Rows | None:
        """The rows of an event; None if nobody wants them."""
        described = self.described(body)
        return None if described is None else self.decoded(described, kind, body)

    def described(self, body: bytes) -> bytes | None:
        """The table map of an event with rows; None if nobody wants them."""
        number = table_id(body)
        if number not in self._bodies:
            if number == _NO_TABLE:
                return None
            raise ReadError("the log has rows of a table that it did not describe", "is this the end of a transaction?")
        return self._bodies[number]

    def decoded(self, described: bytes, kind: int, body: bytes) -> Rows:
        return rows_of(self._layouts.of(described), kind, body)
