"""Writes lines in tab form with INSERT, to servers that take no LOAD DATA LOCAL (local_infile is off)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from tieout.config.secrets import scrub
from tieout.connectors.mysql.move.session import MySQLSession
from tieout.errors import WriteError
from tieout.model.server_words import told
from tieout.model.tables import Column, TableName
from tieout.model.types import TypeName

_STATEMENT = 1 << 20
_SLACK = 1 << 10
"""What a packet has beside a statement, and more."""

_NULL = b"\\N"
_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)
# As LOAD DATA takes them; any other letter stands for itself.
_MEANT = {b"t": b"\t", b"n": b"\n", b"r": b"\r", b"b": b"\b", b"0": b"\0", b"Z": b"\x1a"}

_Literal = Callable[[bytes], bytes]


def insert(session: MySQLSession, into: TableName, columns: Sequence[Column | str], lines: Iterable[bytes]) -> int:
    """Rows written: all of the lines, each as it is, or WriteError. A name stands for a column of plain text."""
    names = [column if isinstance(column, str) else column.name for column in columns]
    head = f"INSERT INTO {session.table(into)} ({', '.join(map(session.quote, names))}) VALUES ".encode()
    literals = [_literal_of(column) for column in columns]
    ((largest,),) = session.rows("SELECT @@SESSION.max_allowed_packet")
    written = 0
    for rows in _batches(_rows(lines, literals), min(_STATEMENT, largest) - len(head) - _SLACK):
        if len(rows[0]) + len(head) + _SLACK > largest:
            raise WriteError(
                f"{session.url.redacted()}: a row of {len(rows[0]):,} bytes is larger than max_allowed_packet",
                "SET GLOBAL local_infile = 1, or max_allowed_packet higher",
            )
        written += _send(session, head + b",".join(rows), len(rows))
    return written


def _rows(lines: Iterable[bytes], literals: Sequence[_Literal]) -> Iterator[bytes]:
    for block in lines:
        for line in block.split(b"\n")[:-1]:
            fields = line.split(b"\t")
            yield b"(" + b",".join(literal(field) for literal, field in zip(literals, fields, strict=True)) + b")"


def _batches(rows: Iterable[bytes], most: int) -> Iterator[list[bytes]]:
    """One row at least, and no more bytes than that, commas included."""
    batch: list[bytes] = []
    size = 0
    for row in rows:
        if batch and size + len(row) + 1 > most:
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += len(row) + 1
    if batch:
        yield batch


def _literal_of(column: Column | str) -> _Literal:
    if isinstance(column, str):
        return _text
    if column.type.name in (TypeName.BINARY, TypeName.OPAQUE):
        return _bytes
    return _bits if column.type.name is TypeName.BITS else _text


def _text(field: bytes) -> bytes:
    if field == _NULL:
        return b"NULL"
    if b"\\" in field:
        field = _ESCAPED.sub(lambda found: _MEANT.get(found[1], found[1]), field)
    # The session has NO_BACKSLASH_ESCAPES: a quote alone is special.
    return b"'" + field.replace(b"'", b"''") + b"'"


def _bytes(field: bytes) -> bytes:
    return b"NULL" if field == _NULL else b"X'" + field.removeprefix(b"\\\\x") + b"'"


def _bits(field: bytes) -> bytes:
    return b"NULL" if field == _NULL else b"b'" + field + b"'"


def _send(session: MySQLSession, statement: bytes, rows: int) -> int:
    with session.answered():
        written = int(session.connection.query(statement))
        warnings = session.connection.show_warnings() if session.connection._result.warning_count else ()
    if warnings:
        said = told(scrub(" ".join(str(warnings[0][2]).split())), warnings[0][1])
        raise WriteError(f"{session.url.redacted()}: {said}")
    if written != rows:
        raise WriteError(f"{session.url.redacted()}: of {rows:,} rows the server took {written:,}")
    return written
