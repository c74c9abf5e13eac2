"""Values as literals of MySQL's SQL: to compare with, to assign, from the binary log, and from a line of COPY text.

Sessions are in UTC and have NO_BACKSLASH_ESCAPES. `quoting` puts the quotes around.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

import numpy as np

from tieout.connectors.mysql import quoting
from tieout.connectors.protocols.repair import Refused
from tieout.model.tables import Column
from tieout.model.types import TypeName

NUMERIC = {TypeName.INTEGER, TypeName.DECIMAL, TypeName.YEAR}
_FLOATING = {TypeName.FLOAT32, TypeName.FLOAT64}
_TEMPORAL = {TypeName.DATE, TypeName.TIME, TypeName.TIMESTAMP}
_NOT_FOUND = {TypeName.FLOAT32, TypeName.JSON, TypeName.OPAQUE}
"""Types whose values no literal equals, or no index holds."""

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_UNSIGNED = re.compile(r"[0-9]+")
_MOMENT = re.compile(r"[-0-9:. ]+")


def compared(column: Column, text: str) -> str:
    """Canonical text as a literal that a column is compared with."""
    name = column.type.name
    if name in NUMERIC and _NUMBER.fullmatch(text):
        return text
    if name is TypeName.BINARY:
        return quoting.octets(_octets(text))
    if name in _TEMPORAL and _MOMENT.fullmatch(text):
        return quoting.text(text)
    if name is TypeName.INSTANT and (seconds := _unix_seconds(text)):
        # The server would read a literal in the session's time zone, which is the server's own choice.
        return f"FROM_UNIXTIME({seconds})"
    if name is TypeName.BITS and _UNSIGNED.fullmatch(text):
        return _bits(column, text)
    return quoting.hex_text(text)


def assigned(column: Column, text: str) -> str:
    """Canonical text as a literal that is stored in a column. Refused if no literal can express it."""
    name = column.type.name
    if name in NUMERIC and _NUMBER.fullmatch(text):
        return text
    if name in _FLOATING:
        return _float(column, text)
    if name is TypeName.BITS and _UNSIGNED.fullmatch(text):
        return _bits(column, text)
    if name in (TypeName.BINARY, TypeName.OPAQUE):
        try:
            return quoting.octets(_octets(text))
        except ValueError:
            raise Refused(f"column {column.name}: {text[:40]!r} is not a binary value") from None
    if name in (*_TEMPORAL, TypeName.INSTANT) and _MOMENT.fullmatch(text):
        return quoting.text(text)
    return _text(column, text)


def logged(column: Column, value: object) -> str | None:
    """A value of the binary log as a literal that a column is compared with; None if no literal equals it."""
    if value is None:
        return "NULL"
    if column.type.name in _NOT_FOUND or column.type.native.lower() in ("inet4", "inet6"):
        return None
    if isinstance(value, bytes):
        return quoting.text(str(UUID(bytes=value))) if column.type.name is TypeName.UUID else quoting.octets(value)
    if isinstance(value, int | float):
        return repr(value)
    return compared(column, str(value))


def copied(column: Column | str) -> Callable[[bytes], bytes]:
    """What turns a field of COPY text into a literal for this column. A name stands for a column of plain text."""
    if isinstance(column, str):
        return _copied_text
    if column.type.name in (TypeName.BINARY, TypeName.OPAQUE):
        return _copied_bytes
    return _copied_bits if column.type.name is TypeName.BITS else _copied_text


def _float(column: Column, text: str) -> str:
    try:
        # A FLOAT is written as the DOUBLE that it is exactly: its own digits would be rounded twice.
        number = float(np.float32(text)) if column.type.name is TypeName.FLOAT32 else float(text)
    except ValueError:
        return _text(column, text)
    if not np.isfinite(number):
        return _text(column, text)
    plain = repr(number)
    # With an exponent it is a DOUBLE; without, a DECIMAL.
    return plain if "e" in plain else f"{plain}e0"


def _bits(column: Column, digits: str) -> str:
    """All bits of the column; or the number, for a column that is compared with integers."""
    whole = len(digits) == (column.type.precision or 1) and not digits.strip("01")
    return quoting.bits(digits) if whole else digits


def _octets(text: str) -> bytes:
    """From 0x…, from the hexadecimal of an opaque type, or from a UUID."""
    return bytes.fromhex(text.removeprefix("0x").replace("-", ""))


def _unix_seconds(text: str) -> str | None:
    try:
        micros = (datetime.fromisoformat(text) - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    except ValueError:
        return None
    return f"{micros // 1_000_000}.{micros % 1_000_000:06d}"


def _text(column: Column, text: str) -> str:
    if text.startswith("\0invalid "):
        raise Refused(f"column {column.name} holds bytes that are not text in its character set")
    try:
        return quoting.text(text)
    except UnicodeEncodeError:
        raise Refused(f"column {column.name} holds text that is not valid Unicode") from None


_NULL = b"\\N"
_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)
# As LOAD DATA reads them; any other letter stands for itself.
_MEANT = {b"t": b"\t", b"n": b"\n", b"r": b"\r", b"b": b"\b", b"0": b"\0", b"Z": b"\x1a"}


def _copied_text(field: bytes) -> bytes:
    if field == _NULL:
        return b"NULL"
    if b"\\" in field:
        field = _ESCAPED.sub(lambda found: _MEANT.get(found[1], found[1]), field)
    return quoting.raw_text(field)


def _copied_bytes(field: bytes) -> bytes:
    digits = field.removeprefix(b"\\\\x")
    # A text that Spark computed is no hexadecimal digits: the server says whether the column takes it.
    is_hex = digits != field and (digits.isalnum() or not digits)
    return quoting.raw_octets(digits) if is_hex else _copied_text(field)


def _copied_bits(field: bytes) -> bytes:
    return b"NULL" if field == _NULL else quoting.raw_bits(field)
