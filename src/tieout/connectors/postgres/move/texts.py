"""How PostgreSQL's values are written in tab form: by its own SQL in chunks, by us where they come from the log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from struct import pack, unpack

import pyarrow as pa

from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.connectors.postgres.move.arrays import array_json
from tieout.connectors.postgres.move.clocks import clock_sql, clock_text
from tieout.connectors.protocols.move import TextOf
from tieout.connectors.sql import copy_text
from tieout.connectors.sql.char_overflow import MARK, marked, most_letters
from tieout.model.moving import Transfer
from tieout.model.tables import Column
from tieout.model.types import TypeName

_NUMBERS = {TypeName.INTEGER, TypeName.DECIMAL, TypeName.BOOLEAN}


@dataclass(frozen=True, slots=True)
class _Writing:
    """A way to write values: as SQL with {} for the column, and from the text that the log has."""

    sql: str | Callable[[str], str] = "{}"
    text: Callable[[str], str] | None = None

    def rendered(self, reference: str) -> str:
        return self.sql.format(reference) if isinstance(self.sql, str) else self.sql(reference)

    def texts(self) -> TextOf:
        text = self.text
        return copy_text.texts if text is None else lambda values: _each(text, values)


_AS_IT_IS = _Writing()
# A CHAR is filled up with spaces, which are no part of it.
_WITHOUT_PADDING = _Writing("{}::text", lambda value: value.rstrip(" "))
_ONE_OR_ZERO = _Writing("{}::int", lambda value: "1" if value == "t" else "0")
# MySQL reads a number as a DOUBLE first: the shortest text of the largest REAL is above that one.
_ALL_DIGITS = _Writing("{}::float8", lambda value: repr(unpack("f", pack("f", float(value)))[0]))
_IN_UTC = _Writing("{} AT TIME ZONE 'UTC'", lambda value: value.removesuffix("+00"))
_CLOCK = _Writing(clock_sql, clock_text)
_BYTES_OF_UUID = _Writing("'\\x' || replace({}::text, '-', '')", lambda value: "\\x" + value.replace("-", ""))
_UUID_OF_BYTES = _Writing("encode({}, 'hex')", lambda value: value.removeprefix("\\x"))
_MONEY = _Writing("{}::numeric", lambda value: value.replace("$", "").replace(",", ""))
_NUMBER_OF_BITS = _Writing(
    # The last of 64 bits would be a sign.
    "CASE WHEN {0}::int8 < 0 THEN {0}::int8::numeric + 18446744073709551616 ELSE {0}::int8 END",
    lambda value: str(int(value, 2)),
)


def rendered(dialect: PostgresDialect, transfer: Transfer, *, alike: bool) -> str:
    """The columns to select. `alike`: as PostgreSQL itself reads them."""
    return ", ".join(
        _writing(source, target, alike=alike).rendered(dialect.quote(source.name))
        for source, target in transfer.columns
    )


def texts_of(transfer: Transfer, *, alike: bool) -> Sequence[TextOf]:
    return [_writing(source, target, alike=alike).texts() for source, target in transfer.columns]


def _writing(source: Column, target: Column, *, alike: bool) -> _Writing:
    name, wanted = source.type.name, target.type.name
    if (most := most_letters(source, target)) is not None:
        return _Writing(
            f"CASE WHEN char_length({{0}}) > {most:d} THEN {{0}} || {quoting.text(MARK)} ELSE {{0}} END",
            lambda value: marked(value, most),
        )
    if name is wanted and alike:
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
