"""Values as PostgreSQL's SQL and text: literals, arrays, and years before Christ.

Literals are for sessions with standard_conforming_strings, in UTC. One without a cast takes the type of its column, by
that type's own input function.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tieout.connectors.postgres import quoting
from tieout.errors import UnsupportedError
from tieout.model.tables import Column
from tieout.model.types import TypeName

NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
MOMENTS = {TypeName.DATE, TypeName.TIMESTAMP, TypeName.INSTANT}
_NUMERIC = {TypeName.INTEGER, TypeName.DECIMAL}
_BOUNDS = re.compile(r"(\[-?\d+:-?\d+\])+")


def literal(column: Column, text: str) -> str:
    """SQL for a canonical text; UnsupportedError if the column can't hold it."""
    name = column.type.name
    if name in _NUMERIC and NUMBER.fullmatch(text):
        return text
    if name is TypeName.BINARY:
        return quoting.octets(_bytes(column, text))
    if name is TypeName.BITS and text.strip("01") and text.isascii() and text.isdigit():
        # Not its bits but the number: the column was compared with integers.
        return f"{int(text):d}::bit({column.type.precision or 64:d})"
    if name is TypeName.ARRAY:
        return _quoted(column, array_literal(text))
    return _quoted(column, to_postgres(text) if name in MOMENTS else text)


def log_literal(value: object) -> str:
    """SQL for a value of the log, which is text. It has no type: it takes the one of what it is compared with."""
    return "NULL" if value is None else quoting.text(str(value))


def _bytes(column: Column, text: str) -> bytes:
    try:
        return bytes.fromhex(text.removeprefix("0x").replace("-", ""))
    except ValueError:
        raise UnsupportedError(f"column {column.name}: {text[:40]!r} is not a binary value") from None


def _quoted(column: Column, text: str) -> str:
    if "\0" in text:
        raise UnsupportedError(f"column {column.name}: PostgreSQL can't store the character NUL in a text")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UnsupportedError(f"column {column.name} holds text that is not valid Unicode") from None
    return quoting.text(text)


class _Number(str):
    """A number as it was written: nothing is rounded."""


def array_literal(text: str) -> str:
    """An array as PostgreSQL writes it, from JSON: [bounds, elements] or elements. Its own text stays."""
    try:
        value = json.loads(text, parse_int=_Number, parse_float=_Number, parse_constant=_Number)
    except ValueError:
        return text
    if not isinstance(value, list):
        return text
    bounds, elements = _parts(value)
    return f"{bounds}={_braces(elements)}" if bounds else _braces(elements)


def _parts(value: list[Any]) -> tuple[str | None, list[Any]]:
    if len(value) == 2 and isinstance(value[1], list):
        if value[0] is None:
            return None, value[1]  # an empty array has no bounds
        if isinstance(value[0], str) and _BOUNDS.fullmatch(value[0]):
            return value[0], value[1]
    return None, value


def _braces(elements: list[Any]) -> str:
    return "{" + ",".join(map(_element, elements)) + "}"


def _element(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, list):
        return _braces(value)
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, dict):
        raise UnsupportedError("an array of objects can't be written from JSON")
    return quoting.array_element(str(value))


_CANONICAL_YEAR = re.compile(r"(-[0-9]{4,7}|0000)(-[0-9]{2}-[0-9]{2}(?: .*)?)", re.DOTALL)
_BEFORE_CHRIST = re.compile(r"([0-9]{4,7})(-[0-9]{2}-[0-9]{2}(?: .*)?) BC", re.DOTALL)


def to_postgres(text: str) -> str:
    """A date or moment as PostgreSQL writes it: -0043-03-15 in canonical text is 0044-03-15 BC."""
    found = _CANONICAL_YEAR.fullmatch(text)
    # A zero date of MySQL has no month; PostgreSQL is to refuse it as it stands.
    if found is None or found[2].startswith("-00"):
        return text
    return f"{1 - int(found[1]):04d}{found[2]} BC"


def from_postgres(text: str) -> str:
    """The canonical text of a date or moment that PostgreSQL wrote."""
    found = _BEFORE_CHRIST.fullmatch(text)
    if found is None:
        return text
    year = 1 - int(found[1])
    return f"{'-' if year < 0 else ''}{abs(year):04d}{found[2]}"
