"""Canonical text as PostgreSQL literals, for a session with standard_conforming_strings and in UTC."""

from __future__ import annotations

import re

from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.arrays import array_literal
from tieout.connectors.postgres.bc_dates import to_postgres
from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.connectors.protocols.repair import Refused
from tieout.model.tables import Column
from tieout.model.types import TypeName

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_NUMERIC = {TypeName.INTEGER, TypeName.DECIMAL}
_INTEGERS = ("smallint", "integer", "bigint")
_INT8_DIGITS = 18
_EXACT = ("text", "uuid", "date", "boolean", "bytea", "real", "double precision", *_INTEGERS)
"""Types that have operators of their own, for two values of the same type."""
_MOMENTS = {TypeName.DATE, TypeName.TIMESTAMP, TypeName.INSTANT}


class PostgresChangeDialect(PostgresDialect):
    """A literal without a cast takes the type of its column, by that type's own input function."""

    def value(self, column: Column, text: str) -> str:
        name = column.type.name
        if name in _NUMERIC and _NUMBER.fullmatch(text):
            return text
        if name is TypeName.BINARY:
            return quoting.octets(_bytes(column, text))
        if name is TypeName.BITS and text.strip("01") and text.isascii() and text.isdigit():
            # Not its bits but the number: the column was compared with integers.
            return f"{int(text):d}::bit({column.type.precision or 64:d})"
        if name is TypeName.ARRAY:
            return _quoted(column, array_literal(text))
        if name in _MOMENTS:
            return _quoted(column, to_postgres(text))
        return _quoted(column, text)

    def compared(self, column: Column, left: str, sign: str, right: str) -> str:
        """Plainly, where nobody can have made an operator that fits better than the server's own: people read it."""
        is_own = column.operators is None and (
            (column.type.native in _EXACT and right.startswith("'"))
            or (column.type.native in _INTEGERS and _NUMBER.fullmatch(right) is not None and len(right) <= _INT8_DIGITS)
        )
        return f"{left} {sign} {right}" if is_own else super().compared(column, left, sign, right)


def _bytes(column: Column, text: str) -> bytes:
    try:
        return bytes.fromhex(text.removeprefix("0x").replace("-", ""))
    except ValueError:
        raise Refused(f"column {column.name}: {text[:40]!r} is no binary value") from None


def _quoted(column: Column, text: str) -> str:
    if "\0" in text:
        raise Refused(f"column {column.name}: PostgreSQL can't hold the character NUL in a text")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Refused(f"column {column.name} holds text that is not valid Unicode") from None
    return quoting.text(text)
