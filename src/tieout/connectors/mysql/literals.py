"""Canonical text as MySQL literals, for assignment in a session that is in UTC."""

from __future__ import annotations

import re

import numpy as np

from tieout.connectors.mysql import quoting
from tieout.connectors.mysql.dialect import MySQLDialect
from tieout.connectors.protocols.repair import Refused
from tieout.model.tables import Column
from tieout.model.types import TypeName

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_MOMENT = re.compile(r"[-0-9:. ]+")

_NUMERIC = {TypeName.INTEGER, TypeName.DECIMAL, TypeName.YEAR}
_FLOATING = {TypeName.FLOAT32, TypeName.FLOAT64}
_TEMPORAL = {TypeName.DATE, TypeName.TIME, TypeName.TIMESTAMP, TypeName.INSTANT}


class MySQLChangeDialect(MySQLDialect):
    def value(self, column: Column, text: str) -> str:
        name = column.type.name
        if name in _NUMERIC and _NUMBER.fullmatch(text):
            return text
        if name in _FLOATING:
            return _float(column, text)
        if name is TypeName.BITS:
            return _bits(column, text)
        if name in (TypeName.BINARY, TypeName.OPAQUE):
            return quoting.octets(_bytes(column, text))
        if name in _TEMPORAL and _MOMENT.fullmatch(text):
            return quoting.text(text)
        return _text(column, text)


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


def _bits(column: Column, text: str) -> str:
    """All its bits; or, for a column compared with integers, the number."""
    if len(text) == (column.type.precision or 1) and not text.strip("01"):
        return quoting.bits(text)
    return text if text.isascii() and text.isdigit() else _text(column, text)


def _bytes(column: Column, text: str) -> bytes:
    """From 0x…, from the hexadecimal of an opaque type, or from a UUID."""
    try:
        return bytes.fromhex(text.removeprefix("0x").replace("-", ""))
    except ValueError:
        raise Refused(f"column {column.name}: {text[:40]!r} is no binary value") from None


def _text(column: Column, text: str) -> str:
    if text.startswith("\0invalid "):
        raise Refused(f"column {column.name} holds bytes that are no text in its character set")
    try:
        return quoting.text(text)
    except UnicodeEncodeError:
        raise Refused(f"column {column.name} holds text that is not valid Unicode") from None
