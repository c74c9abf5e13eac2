"""Writes values as SQLite literals; nothing else does.

A key is canonical text to compare with a column, a new value is canonical text to write to one, and a driver's value is
of any class. A value keeps its class, as far as its column's affinity allows.
"""

from __future__ import annotations

import functools
import re
import sqlite3

from tieout.connectors.protocols.repair import Refused
from tieout.connectors.sqlite import quoting
from tieout.model.tables import Column
from tieout.model.types import TypeName

_INTEGER = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?")
_NUMERIC = {TypeName.INTEGER, TypeName.DECIMAL, TypeName.FLOAT64, TypeName.BOOLEAN}
_TRUTH = {"true": "1", "false": "0"}
_INFINITY = {"Infinity": "9e999", "inf": "9e999", "-Infinity": "-9e999", "-inf": "-9e999"}

_BLOB = "\0blob "
"""How the reader marks a blob where it expects none; it marks other classes among blobs in the same way."""


def of_key(column: Column, text: str) -> str:
    if column.type.name is TypeName.BOOLEAN:
        return "1" if text == "true" else "0"
    if column.type.name in (TypeName.INTEGER, TypeName.DECIMAL, TypeName.FLOAT64) and _is_number(text):
        return text
    if column.type.name is TypeName.BINARY and text.startswith("0x"):
        return quoting.octets(bytes.fromhex(text[2:]))
    return quoting.coded_text(text.encode())


def _is_number(text: str) -> bool:
    try:
        plain = text.replace(".", "").replace("-", "").replace("e", "")
        return float(text) is not None and plain.isascii() and plain.isdigit()
    except ValueError:
        return False


def of_driver_value(value: object) -> str:
    """A value of any class, as it is."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return quoting.octets(value)
    if isinstance(value, str):
        return quoting.coded_text(value.encode("utf-8", "surrogateescape"))
    return real(value) if isinstance(value, float) else repr(value)


def of_new_value(column: Column, text: str) -> str:
    """Raises Refused if SQLite has no literal for this value."""
    name = column.type.name
    if text.startswith(_BLOB):
        return _blob(column, text.removeprefix(_BLOB))
    if name is TypeName.BOOLEAN and text in _TRUTH:
        return _TRUTH[text]
    if name is TypeName.FLOAT64 and text in _INFINITY:
        return _INFINITY[text]
    if name in _NUMERIC and _NUMBER.fullmatch(text):
        return _number(text)
    if name is TypeName.BINARY:
        return _bytes(column, text)
    return _text(column, text)


def _number(text: str) -> str:
    return text if _INTEGER.fullmatch(text) else real(float(text))


def real(number: float) -> str:
    """SQL that is exactly this number: SQLite (3.40, for one) rounds the last bit of some decimal literals wrongly."""
    number = float(number)  # the log's own kind of number equals no other
    plain = repr(number)
    if plain in _INFINITY:
        return _INFINITY[plain]
    if _evaluator().execute(f"SELECT {plain}").fetchone()[0] == number:
        return plain
    numerator, denominator = number.as_integer_ratio()
    shift = max(0, abs(numerator).bit_length() - 53)
    # Integers up to 2^53 and powers of two are exact, and so are the steps between them.
    steps = ["*" + step for step in _powers(shift)] + ["/" + step for step in _powers(denominator.bit_length() - 1)]
    return f"({numerator >> shift}.0{''.join(steps)})"


def _powers(exponent: int) -> list[str]:
    return [f"{1 << min(62, exponent - done)}" for done in range(0, exponent, 62)]


@functools.cache
def _evaluator() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", check_same_thread=False)


def _bytes(column: Column, text: str) -> str:
    if not text.startswith("0x"):
        return _blob(column, text.replace("-", ""))
    raw = bytes.fromhex(text[2:])
    mark, _, rest = raw.partition(b" ")
    if mark == b"\0int":
        return rest.decode()
    if mark == b"\0float":
        return real(float(rest))
    if mark == b"\0str":
        return quoting.coded_text(rest)
    return quoting.octets(raw)


def _blob(column: Column, digits: str) -> str:
    try:
        return quoting.octets(bytes.fromhex(digits))
    except ValueError:
        raise Refused(f"column {column.name}: {digits[:40]!r} is not a binary value") from None


def _text(column: Column, text: str) -> str:
    try:
        return quoting.text(text)
    except UnicodeEncodeError:
        raise Refused(f"column {column.name} holds text that is not valid Unicode") from None
