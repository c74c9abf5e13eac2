"""The tables of a log while it is read: those that are wanted, their layouts, and the rows of their events."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.binlog import codes
from tieout.connectors.mysql.binlog.byte_reader import Cursor, inflated_event
from tieout.connectors.mysql.binlog.charset_codec import Charsets
from tieout.connectors.mysql.binlog.column_forms import Form, form_of
from tieout.connectors.mysql.binlog.row_decoder import Decoded, Decoder, Slot, decoder
from tieout.connectors.mysql.binlog.server import fraction_digits
from tieout.connectors.mysql.binlog.statements import Query
from tieout.connectors.mysql.binlog.table_map import LogColumn, TableMap, table_id, table_map, table_name
from tieout.connectors.mysql.session import MySQLSession
from tieout.errors import ReadError, UnsupportedError
from tieout.model.row_changes import ChangeKind, LogTable, Rows
from tieout.model.server_words import told_of
from tieout.model.tables import TableName


class Wanted:
    """The tables that are wanted. `folded`: the server ignores case in their names (lower_case_table_names)."""

    def __init__(self, tables: frozenset[TableName], folded: bool) -> None:
        self._folded = folded
        self._tables = {self._key(table): table for table in tables}
        self._schemas = {table.schema for table in tables}

    def named(self, name: TableName) -> TableName | None:
        """The wanted table of this name, if there is one."""
        return self._tables.get(self._key(name))

    @property
    def tables(self) -> Iterable[TableName]:
        return self._tables.values()

    def in_schema(self, schema: str) -> list[TableName]:
        wanted = self._key(TableName(schema, "")).schema
        return [table for key, table in self._tables.items() if key.schema == wanted]

    def concerns(self, query: Query, text: str | None = None) -> bool:
        """Whether a statement could change rows of wanted tables: it runs in their schema, or names it."""
        where = f"{query.schema} {query.raw.decode(errors='replace') if text is None else text}"
        return any(_may_name(where, schema) for schema in self._schemas)

    def perhaps_in(self, text: str) -> list[TableName]:
        """The tables whose names may occur in a text that cannot be split into words."""
        return [table for table in self.tables if _may_name(text, table.name)]

    def _key(self, name: TableName) -> TableName:
        return TableName(name.schema.lower(), name.name.lower()) if self._folded else name


def _may_name(text: str, name: str) -> bool:
    """Whether a name may occur in a text, in any case and any quotes."""
    if "\ufffd" in text and not name.isascii():
        return True  # some of its characters are unreadable
    spellings = {name.replace(quote, quote * 2) for quote in '\0`"]'}
    # Digits may precede it: the version in a comment with code for some versions.
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
    codes.WRITE_V1: _Shape(_INSERT),
    codes.UPDATE_V1: _Shape(_UPDATE),
    codes.DELETE_V1: _Shape(_DELETE),
    codes.WRITE: _Shape(_INSERT, extended=True),
    codes.UPDATE: _Shape(_UPDATE, extended=True),
    codes.DELETE: _Shape(_DELETE, extended=True),
    codes.WRITE_COMPRESSED_V1: _Shape(_INSERT, compressed=True),
    codes.UPDATE_COMPRESSED_V1: _Shape(_UPDATE, compressed=True),
    codes.DELETE_COMPRESSED_V1: _Shape(_DELETE, compressed=True),
    codes.WRITE_COMPRESSED: _Shape(_INSERT, extended=True, compressed=True),
    codes.UPDATE_COMPRESSED: _Shape(_UPDATE, extended=True, compressed=True),
    codes.DELETE_COMPRESSED: _Shape(_DELETE, extended=True, compressed=True),
}


def rows_of(layout: Layout, kind: int, body: bytes) -> Rows:
    """Decodes an event with rows. Its first six bytes are the number of the table, the next two are flags."""
    shape = _SHAPES[kind]
    at = 8 + (int.from_bytes(body[8:10], "little") if shape.extended else 0)
    cursor = Cursor(body, at)
    width = cursor.number()
    if width != layout.width:
        raise ReadError(f"{layout.table.name}: the log has rows of {width} columns, but described {layout.width}")
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
        raise ReadError(
            f"{layout.table.name}: column {column} has bytes that are not valid text: {told_of(error)}"
        ) from None
    except (ValueError, LookupError, struct.error, zlib.error) as error:
        raise ReadError(f"{layout.table.name}: rows of the log cannot be decoded: {told_of(error)}") from None
    if decoded[0] != len(data):
        raise ReadError(f"{layout.table.name}: rows of the log do not end where their event ends")
    return decoded


_NO_TABLE = 0xFFFFFF
"""The table number in an event that only ends a statement."""


class Tables:
    """Remembers the table maps of a log; a table number is valid until the log uses it again."""

    def __init__(self, wanted: Wanted, layouts: Layouts) -> None:
        self._wanted = wanted
        self._layouts = layouts
        self._bodies: dict[int, bytes | None] = {}
        self._judged: dict[bytes, bool] = {}

    def add(self, body: bytes) -> None:
        """Adds a table map."""
        wanted = self._judged.get(body)
        if wanted is None:
            wanted = self._judged[body] = self._wanted.named(table_name(body)) is not None
        self._bodies[table_id(body)] = body if wanted else None

    def rows(self, kind: int, body: bytes) -> Rows | None:
        """The rows of an event; None if its table is not wanted."""
        described = self.described(body)
        return None if described is None else self.decoded(described, kind, body)

    def described(self, body: bytes) -> bytes | None:
        """The table map of an event with rows; None if the table is not wanted."""
        number = table_id(body)
        if number not in self._bodies:
            if number == _NO_TABLE:
                return None
            raise ReadError(
                "the log has rows of a table that it did not describe", "is the position the end of a transaction?"
            )
        return self._bodies[number]

    def decoded(self, described: bytes, kind: int, body: bytes) -> Rows:
        return rows_of(self._layouts.of(described), kind, body)


_MOST = 1_000
"""Table maps to remember: a table has a new one whenever it is altered."""


class Layout:
    """A table, and the decoders of its rows: one for each combination of columns that events have."""

    def __init__(self, described: TableMap, charsets: Charsets) -> None:
        if not described.named:
            raise UnsupportedError(
                f"{described.name}: the log does not name its columns",
                "SET GLOBAL binlog_row_metadata = FULL; earlier events cannot be read",
            )
        self.table = LogTable(described.name, tuple(column.name for column in described.columns))
        self.width = len(described.columns)
        self._columns = described.columns
        self._forms = [_form(described, column, charsets) for column in described.columns]
        self._decoders: dict[tuple[bytes, ...], Decoder] = {}

    def decoder(self, *present: bytes) -> Decoder:
        """The decoder for one image or two, each with the columns whose bits are set."""
        found = self._decoders.get(present)
        if found is None:
            if not any(map(any, present)):
                raise UnsupportedError(f"{self.table.name}: rows without any column", "set binlog_row_image = FULL")
            found = self._decoders[present] = decoder([self._slots(bits) for bits in present])
        return found

    def _slots(self, bits: bytes) -> list[Slot]:
        return [
            Slot(column.name, form if bits[place // 8] >> place % 8 & 1 else None, column.nullable)
            for place, (column, form) in enumerate(zip(self._columns, self._forms, strict=True))
        ]


def _form(described: TableMap, column: LogColumn, charsets: Charsets) -> Form:
    form = form_of(column, charsets.decoding)
    if form is None:
        kind = "JSON in MySQL's binary form" if column.type == codes.JSON else f"type {column.type}"
        raise UnsupportedError(f"{described.name}: column {column.name} cannot be read from the log: {kind}")
    return form


class Layouts:
    """The layouts of one server's tables, by their table maps."""

    def __init__(self, url: EndpointUrl, mariadb: bool) -> None:
        self.charsets = Charsets(url)
        self._url = url
        self.mariadb = mariadb
        self._known: dict[bytes, Layout] = {}

    def of(self, body: bytes) -> Layout:
        """The layout for a table map. The first bytes, a number that the table has only for a while, do not count."""
        description = body[8:]
        found = self._known.get(description)
        if found is None:
            if len(self._known) >= _MOST:
                self._known.clear()
            found = self._known[description] = self._made(table_map(body, self.mariadb))
        return found

    def _made(self, described: TableMap) -> Layout:
        self._check_old_times(described)
        try:
            return Layout(described, self.charsets)
        except UnicodeDecodeError as error:
            raise ReadError(f"{described.name}: labels are not valid text: {error}") from None

    def _check_old_times(self, described: TableMap) -> None:
        """Refuses old temporal types with fractions: the log does not have their length."""
        old = [column.name for column in described.columns if column.type in codes.OLD_TEMPORAL]
        if not old:
            return
        with closing(MySQLSession(self._url)) as session:
            digits = fraction_digits(session, described.name)
        for column in old:
            if digits.get(column) != 0:
                raise UnsupportedError(
                    f"{described.name}: column {column} is in a format that MariaDB's log does not tell the length of",
                    f"SET GLOBAL mysql56_temporal_format = ON; ALTER TABLE {described.name} FORCE",
                )


@lru_cache(maxsize=8)
def layouts_of(url: EndpointUrl, mariadb: bool) -> Layouts:
    """Cached from one read to the next: making a decoder takes longer than a small read."""
    return Layouts(url, mariadb)
