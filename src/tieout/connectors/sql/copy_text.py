r"""Tab form: how rows travel from a source to a target, a line for each row, as PostgreSQL's COPY reads it.

MySQL's LOAD DATA reads the same: fields end with a tab, rows with a newline, \N is NULL, and a backslash precedes a
backslash, tab, newline or carriage return. Numbers, dates and times are plain text, moments are in UTC, bytes are \x
and hexadecimal digits, bits are 0 and 1, true and false are 1 and 0. Between two servers of one engine a value is in
that engine's own form.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tieout.canonical.fields import joined
from tieout.model.tables import Column
from tieout.model.types import TypeName

_ESCAPES = (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r"))
_NULL = "\\N"
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_PLAIN = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}


def texts(values: Sequence[Any]) -> pa.Array:
    """The values of one column as text that is not escaped yet. They are of one type (int, float, str or bytes) or
    None.
    """
    sort = next((type(value) for value in values if value is not None), str)
    if sort is str:
        return pa.array(values, pa.large_string())
    if sort is bytes:
        return pa.array([None if value is None else "\\x" + value.hex() for value in values], pa.large_string())
    try:
        return pa.array(values).cast(pa.large_string())
    except OverflowError:  # above 2^63
        return pa.array(values, pa.uint64()).cast(pa.large_string())


def lines(columns: Sequence[pa.Array]) -> bytes:
    """Turns columns of text into lines."""
    fields = [pc.fill_null(_escaped(column), _NULL) for column in columns]
    rows = pc.binary_join_element_wise(*fields, pa.scalar("\t", pa.large_string()))
    ended = pc.binary_join_element_wise(rows, pa.scalar("", pa.large_string()), pa.scalar("\n", pa.large_string()))
    return joined(ended)


def _escaped(column: pa.Array) -> pa.Array:
    data = joined(column)
    for plain, escaped in _ESCAPES:
        if plain.encode() in data:
            column = pc.replace_substring(column, plain, escaped)
    return column


def cells(block: bytes, width: int) -> list[pa.Array]:
    """Turns a block of whole lines back into the columns that `lines` received."""
    fields = block.replace(b"\n", b"\t").split(b"\t")
    fields.pop()  # behind the last newline
    return [pa.array([_plain(field) for field in fields[place::width]], pa.large_string()) for place in range(width)]


def _plain(field: bytes) -> str | None:
    if b"\\" not in field:
        return field.decode()
    if field == b"\\N":
        return None
    return _ESCAPE.sub(lambda found: _PLAIN.get(found[1], found[1]), field.decode())


MARK = "."
"""What a text gets at its end if it is too long for its column only because of trailing spaces: PostgreSQL silently
cuts off spaces there, but not letters.
"""


def most_letters(source: Column, target: Column) -> int | None:
    """The number of letters that a text may have; None if no text of the source can be too long for the target."""
    room, length = target.type.precision, source.type.precision
    if not (source.type.name is target.type.name is TypeName.TEXT) or room is None:
        return None
    return None if length is not None and length <= room else room


def marked(text: str, most: int) -> str:
    return text + MARK if len(text) > most else text
