"""Reads chunks of PostgreSQL tables without locks: each in a snapshot that records which transactions it saw.

Values are written in tab form: by PostgreSQL's own SQL in chunks, by us where they come from the log. PostgreSQL's text
of an array becomes JSON, as to_json writes it; its intervals become MySQL's times, which may have many hours and may be
negative.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from struct import pack, unpack
from typing import Any

import pyarrow as pa

from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.connection import connect
from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.connectors.postgres.errors import translated
from tieout.connectors.postgres.protocol.copy_lines import copied_lines
from tieout.connectors.postgres.wal import write_ahead_log
from tieout.connectors.protocols.move import TextOf, canonical_keys, key_scan
from tieout.connectors.sql import copy_text, select
from tieout.connectors.sql.copy_text import MARK, marked, most_letters
from tieout.model.keys import Key, KeyRange
from tieout.model.moves import Held, Transfer
from tieout.model.positions import Position
from tieout.model.tables import Column
from tieout.model.types import LogicalType, TypeName

_HOURS = re.compile(r"PT(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?\d+)(\.\d+)?S)?", re.ASCII)


def clock_text(text: str) -> str:
    """The time for an interval in ISO 8601. An interval with months or days has no such time, and stays as it is."""
    match = _HOURS.fullmatch(text)
    if match is None:
        return text
    hours, minutes, seconds = (abs(int(part or 0)) for part in match.groups()[:3])
    return f"{'-' if '-' in text else ''}{hours:02d}:{minutes:02d}:{seconds:02d}{match[4] or ''}"


def clock_sql(reference: str) -> str:
    """The same in SQL, for a session that writes intervals in ISO 8601."""
    sign = f"CASE WHEN {reference} < make_interval(secs => 0) THEN '-' ELSE '' END"
    clock = f"to_char(greatest({reference}, -{reference}), 'HH24:MI:SS.US')"
    return f"CASE WHEN {reference}::text LIKE 'PT%' THEN {sign} || {clock} ELSE {reference}::text END"


_MOMENTS = {TypeName.TIMESTAMP, TypeName.INSTANT}
_JSON_NUMBERS = {TypeName.INTEGER, TypeName.DECIMAL, TypeName.FLOAT32, TypeName.FLOAT64}


def array_json(text: str, kind: LogicalType) -> str:
    """JSON for {1,NULL,{…}}, perhaps with bounds before it. A number that JSON lacks (NaN) becomes a text."""
    elements, _ = _elements(text, text.index("{") + 1)
    return _written(elements, kind.element.name if kind.element else TypeName.TEXT)


def _elements(text: str, at: int) -> tuple[list[Any], int]:
    """The elements after an opening brace, and the offset after the closing one. NULL is None."""
    found: list[Any] = []
    while text[at] != "}":
        if text[at] == "{":
            value, at = _elements(text, at + 1)
            found.append(value)
        elif text[at] == '"':
            word, at = _quoted(text, at + 1)
            found.append(word)
        else:
            end = min(place for place in (text.find(",", at), text.find("}", at)) if place >= 0)
            word, at = text[at:end], end
            found.append(None if word == "NULL" else word)
        if text[at] == ",":
            at += 1
    return found, at + 1


def _quoted(text: str, at: int) -> tuple[str, int]:
    letters: list[str] = []
    while text[at] != '"':
        if text[at] == "\\":
            at += 1
        letters.append(text[at])
        at += 1
    return "".join(letters), at + 1


def _written(value: Any, element: TypeName) -> str:
    if isinstance(value, list):
        return "[" + ",".join(_written(item, element) for item in value) + "]"
    if value is None:
        return "null"
    if element is TypeName.BOOLEAN:
        return "true" if value == "t" else "false"
    if element in _MOMENTS:
        # In JSON, PostgreSQL writes moments in ISO 8601.
        value = value.replace(" ", "T", 1).replace("+00", "+00:00") if value[:1].isdigit() else value
    if element is TypeName.JSON or (element in _JSON_NUMBERS and value.lstrip("-")[:1].isdigit()):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


_NUMBERS = {TypeName.INTEGER, TypeName.DECIMAL, TypeName.BOOLEAN}


@dataclass(frozen=True, slots=True)
class _Writing:
    """How to write values: as SQL with {} for the column, and from the text in the log."""

    sql: str | Callable[[str], str] = "{}"
    text: Callable[[str], str] | None = None

    def rendered(self, reference: str) -> str:
        return self.sql.format(reference) if isinstance(self.sql, str) else self.sql(reference)

    def texts(self) -> TextOf:
        text = self.text
        return copy_text.texts if text is None else lambda values: _each(text, values)


_AS_IT_IS = _Writing()
# A CHAR is padded with spaces, which are not part of its value.
_WITHOUT_PADDING = _Writing("{}::text", lambda value: value.rstrip(" "))
_ONE_OR_ZERO = _Writing("{}::int", lambda value: "1" if value == "t" else "0")
# MySQL reads a number as a DOUBLE first: the shortest text of the largest REAL would exceed a REAL.
_ALL_DIGITS = _Writing("{}::float8", lambda value: repr(unpack("f", pack("f", float(value)))[0]))
_IN_UTC = _Writing("{} AT TIME ZONE 'UTC'", lambda value: value.removesuffix("+00"))
_CLOCK = _Writing(clock_sql, clock_text)
_BYTES_OF_UUID = _Writing("'\\x' || replace({}::text, '-', '')", lambda value: "\\x" + value.replace("-", ""))
_UUID_OF_BYTES = _Writing("encode({}, 'hex')", lambda value: value.removeprefix("\\x"))
_MONEY = _Writing("{}::numeric", lambda value: value.replace("$", "").replace(",", ""))
_NUMBER_OF_BITS = _Writing(
    # The 64th bit would be the sign.
    "CASE WHEN {0}::int8 < 0 THEN {0}::int8::numeric + 18446744073709551616 ELSE {0}::int8 END",
    lambda value: str(int(value, 2)),
)


def rendered(dialect: PostgresDialect, transfer: Transfer, *, same_engine: bool) -> str:
    """SQL for the columns to select. `same_engine`: in the form that PostgreSQL itself reads."""
    return ", ".join(
        _writing(source, target, same_engine=same_engine).rendered(dialect.quote(source.name))
        for source, target in transfer.columns
    )


def texts_of(transfer: Transfer, *, same_engine: bool) -> Sequence[TextOf]:
    return [_writing(source, target, same_engine=same_engine).texts() for source, target in transfer.columns]


def _writing(source: Column, target: Column, *, same_engine: bool) -> _Writing:
    name, wanted = source.type.name, target.type.name
    if (most := most_letters(source, target)) is not None:
        return _Writing(
            f"CASE WHEN char_length({{0}}) > {most:d} THEN {{0}} || {quoting.text(MARK)} ELSE {{0}} END",
            lambda value: marked(value, most),
        )
    if name is wanted and same_engine:
        return _AS_IT_IS
    if name is TypeName.ARRAY:
        return _Writing("to_json({})", lambda value: array_json(value, source.type))
    if source.type.native == "money":
        return _MONEY
    return _OTHERWISE.get((name, wanted)) or _ANYWHERE.get(name) or _AS_IT_IS


_OTHERWISE = {
    (TypeName.INTERVAL, TypeName.TIME): _CLOCK,
    (TypeName.UUID, TypeName.BINARY): _BYTES_OF_UUID,
    (TypeName.BINARY, TypeName.UUID): _UUID_OF_BYTES,
    **{(TypeName.BITS, number): _NUMBER_OF_BITS for number in _NUMBERS},
}
_ANYWHERE = {
    TypeName.CHAR: _WITHOUT_PADDING,
    TypeName.BOOLEAN: _ONE_OR_ZERO,
    TypeName.FLOAT32: _ALL_DIGITS,
    TypeName.INSTANT: _IN_UTC,
}


def _each(text: Callable[[str], str], values: list[object]) -> pa.Array:
    return pa.array([None if value is None else text(str(value)) for value in values], pa.large_string())


_DIALECT = PostgresDialect()
_MOMENT = f"""SELECT pg_current_snapshot()::text, CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
  ELSE pg_current_wal_insert_lsn() END::text, {write_ahead_log.IDENTITY}"""
_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_OWN = {b"\\f": b"\f", b"\\v": b"\v"}


@dataclass(frozen=True)
class PostgresChunkSource:
    url: EndpointUrl

    @contextmanager
    def reading(self) -> Iterator[PostgresChunkReader]:
        with translated(self.url), closing(connect(self.url, "tieout mover")) as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            # The position is read after the snapshot: what the snapshot saw was committed before it.
            snapshot, place, log = connection.execute(_MOMENT).fetchone()
            held = Held(Position(place).of_log(log, tail=self._marked()), snapshot)
            yield PostgresChunkReader(self.url, connection, held)

    def _marked(self) -> str:
        with closing(connect(self.url, "tieout mover")) as connection:
            return write_ahead_log.marked(connection)

    def texts(self, transfer: Transfer, *, same_engine: bool) -> Sequence[TextOf]:
        return texts_of(transfer, same_engine=same_engine)

    def chunks_of(self, transfer: Transfer, bounds: Sequence[Key], keys: Sequence[Key]) -> list[int]:
        statement = select.places_among(_DIALECT, key_scan(transfer), bounds, canonical_keys(transfer, keys))
        with translated(self.url), connect(self.url, "tieout mover") as connection:
            return [int(count) for _, count in connection.execute(statement).fetchall()]


@dataclass(frozen=True)
class PostgresChunkReader:
    url: EndpointUrl
    connection: Any
    held: Held

    def lines(self, transfer: Transfer, keys: KeyRange, *, same_engine: bool) -> Iterator[bytes]:
        columns = rendered(_DIALECT, transfer, same_engine=same_engine)
        statement = f"SELECT {columns} FROM {_DIALECT.table(transfer.source.name)}"
        if condition := select.within(_DIALECT, key_scan(transfer), keys):
            statement += f" WHERE {condition}"
        # Translated here: otherwise the consumer of the lines would take an error for its own.
        with translated(self.url):
            blocks = copied_lines(self.connection, f"COPY ({statement}) TO STDOUT".encode())
            yield from blocks if same_engine else map(in_tab_form, blocks)


def in_tab_form(block: bytes) -> bytes:
    """Removes the escapes that only PostgreSQL writes: MySQL reads \\f as f."""
    if b"\\f" not in block and b"\\v" not in block:
        return block
    return _ESCAPED.sub(lambda found: _OWN.get(found[0], found[0]), block)
