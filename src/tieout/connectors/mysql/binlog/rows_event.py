"""Rows events: changes of rows of one table and one kind."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from tieout.connectors.mysql.binlog import kinds
from tieout.connectors.mysql.binlog.compressed import inflated_event
from tieout.connectors.mysql.binlog.cursor import Cursor
from tieout.connectors.mysql.binlog.decoder import Decoded, Decoder
from tieout.connectors.mysql.binlog.layout import Layout
from tieout.errors import ReadError
from tieout.model.changes import ChangeKind, Rows
from tieout.model.server_words import told_of


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
