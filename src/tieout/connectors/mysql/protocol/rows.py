"""Rows of a query, straight from the packets of a MySQL server: as lines of COPY text, or not decoded at all.

In the text protocol, a packet is its length, and then for each value its length and its text. Where no text contains a
tab, a newline or a backslash of its own, a line needs only a tab in place of each length: numpy does that for all rows
of a piece at once. Other rows are converted one by one.

In the binary protocol, which pymysql does not speak, a packet is a NULL bitmap and the values in forms that depend only
on their types. Two servers that send the same columns of the same types send the same bytes for the same row, and only
for it, so a digest needs no more: less than half the work of a decoder. Numbers are not printed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.connection import connect
from tieout.connectors.mysql.errors import translated
from tieout.connectors.mysql.protocol.commands import start_prepared_query, start_query
from tieout.connectors.mysql.protocol.packets import FULL, HEADER, Places, row_packets, rows_of

_NULL, _TWO, _THREE, _EIGHT = 0xFB, 0xFC, 0xFD, 0xFE
_SIZES = {_TWO: 2, _THREE: 3, _EIGHT: 8}
_TAB, _NEWLINE, _BACKSLASH = b"\t"[0], b"\n"[0], b"\\"[0]
_END_BYTES = 9

RAW = b"\r"
"""A special letter: rows with it are read one by one."""

_SPECIAL = ((b"\\", b"\\\\"), (b"\t", b"\\t"), (b"\n", b"\\n"), (b"\r", b"\\r"))


class _Special(Exception):
    """A value contains a character that has to be escaped."""


@dataclass(frozen=True, slots=True)
class Fields:
    """How many values a row has, and the indexes of those that are COPY text already, with two backslashes each.

    `joined` are the indexes of values that continue the one before; after RAW they are plain bytes.
    """

    count: int
    ready: frozenset[int] = frozenset()
    joined: frozenset[int] = frozenset()


def tab_lines(connection: Any, statement: str, fields: Fields) -> Iterator[bytes]:
    """Runs a query; yields blocks of whole lines."""
    start_query(connection, statement)
    for data, packets in row_packets(connection, _is_row):
        rows = rows_of(packets, len(data))
        try:
            if len(rows) - 1 != len(packets):
                raise _Special
            yield lines_at_once(bytearray(data), packets, fields)
        except _Special:
            yield b"".join(_line(_payload(data, int(start), int(end)), fields) for start, end in pairwise(rows))


def _is_row(first: int, length: int) -> bool:
    # A row may start with 0xFE, too, if its first value has 16 MB or more; no row starts with 0xFF.
    return first != 0xFF and not (first == _EIGHT and length < _END_BYTES)


def lines_at_once(data: bytearray, packets: Places, fields: Fields) -> bytes:
    """The lines of packets that are one row each; _Special if a value has to be escaped. Overwrites `data`."""
    bytes_ = np.frombuffer(data, dtype=np.uint8)
    keep = np.ones(len(bytes_), dtype=bool)
    at = packets + HEADER
    backslashes, nulls = 0, []
    for place in range(fields.count):
        first = bytes_[at]
        length, extra = _lengths(bytes_, at, first)
        absent = np.flatnonzero(first == _NULL)
        if len(absent) and place not in fields.joined:
            nulls.append(at[absent] + 1)
        if place in fields.ready:
            backslashes += 2 * (len(packets) - len(absent))
        _drop(keep, at, extra)
        if place and place not in fields.joined:
            bytes_[at] = _TAB
        else:
            keep[at] = False
        at = at + 1 + extra + length
    bytes_[packets] = _NEWLINE
    keep[packets[0]] = False
    for byte in range(1, HEADER):
        keep[packets + byte] = False
    if nulls:
        bytes_, keep = _with_nulls(bytes_, keep, np.sort(np.concatenate(nulls)))
        backslashes += sum(map(len, nulls))
    lines = bytes_[keep].tobytes() + b"\n"
    _check_plain(lines, len(packets), fields.count - len(fields.joined), backslashes)
    return lines


def _lengths(bytes_: Any, at: Places, first: Any) -> tuple[Places, Places]:
    """The length of each value, and how many bytes of the length follow its first byte."""
    length = first.astype(np.int64)
    extra = np.zeros(len(at), dtype=np.int64)
    if first.max(initial=0) < _NULL:
        return length, extra
    length[first == _NULL] = 0
    for mark, size in _SIZES.items():
        rows = np.flatnonzero(first == mark)
        if len(rows):
            extra[rows] = size
            places = at[rows] + 1
            length[rows] = sum(bytes_[places + byte].astype(np.int64) << (8 * byte) for byte in range(size))
    return length, extra


def _drop(keep: Any, at: Places, extra: Places) -> None:
    for byte in range(1, int(extra.max(initial=0)) + 1):
        keep[at[extra >= byte] + byte] = False


def _with_nulls(bytes_: Any, keep: Any, places: Places) -> tuple[Any, Any]:
    twice = np.repeat(places, 2)
    marks = np.tile(np.frombuffer(b"\\N", dtype=np.uint8), len(places))
    return np.insert(bytes_, twice, marks), np.insert(keep, twice, True)


def _check_plain(lines: bytes, rows: int, columns: int, backslashes: int) -> None:
    if (
        lines.count(b"\n") != rows
        or lines.count(b"\t") != rows * (columns - 1)
        or lines.count(b"\\") != backslashes
        or b"\r" in lines
    ):
        raise _Special


def _payload(data: bytearray, start: int, end: int) -> bytes:
    """A row's packets without their headers."""
    parts = []
    while start < end:
        parts.append(bytes(data[start + HEADER : min(end, start + HEADER + FULL)]))
        start += HEADER + FULL
    return b"".join(parts)


def _line(row: bytes, fields: Fields) -> bytes:
    at = 0
    texts: list[bytes] = []
    for place in range(fields.count):
        first, at = row[at], at + 1
        if first == _NULL:
            if place not in fields.joined:
                texts.append(b"\\N")
            continue
        size = _SIZES.get(first, 0)
        length = int.from_bytes(row[at : at + size], "little") if size else first
        text, at = row[at + size : at + size + length], at + size + length
        if place in fields.joined:
            texts[-1] = b"\\\\x" + text.hex().encode() if texts[-1] == RAW else texts[-1] + text
            continue
        if place not in fields.ready:
            for plain, escaped in _SPECIAL:
                text = text.replace(plain, escaped)
        texts.append(text)
    return b"\t".join(texts) + b"\n"


_ROW = 0x00


def sent_rows(url: EndpointUrl, statement: str) -> Iterator[pa.Array]:
    """The rows of a query as arrays of bytes, one value for each row."""
    with translated(url), closing(connect(url)) as connection:
        start_prepared_query(connection, statement)
        for data, packets in row_packets(connection, lambda first, _: first == _ROW):
            yield _array(data, packets)


def _array(data: bytearray, packets: Places) -> pa.Array:
    # The fourth byte of a header counts packets, and is not part of the row.
    np.frombuffer(data, dtype=np.uint8)[packets + 3] = 0
    ends = rows_of(packets, len(data))
    return pa.Array.from_buffers(pa.large_binary(), len(ends) - 1, [None, pa.py_buffer(ends), pa.py_buffer(data)])
