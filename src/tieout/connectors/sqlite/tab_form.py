"""Tab form between two SQLite files, and what a column holds of it.

It keeps the class of a value: an INTEGER is its digits. Others start with a letter: `r` and the hexadecimal digits of a
REAL, `t` and a TEXT, `b` and the hexadecimal digits of a BLOB, `u` and those of a TEXT that is not UTF-8. A REAL that
Spark computed is `d` and its decimal digits.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

_NULL = "\\N"
_ESCAPED = re.compile(r"\\(.)")
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}


@dataclass(frozen=True, slots=True)
class Undecodable:
    """A TEXT that is not valid text."""

    raw: bytes


def texts(values: Sequence[object]) -> pa.Array:
    try:
        return pa.array([_text(value) for value in values], pa.large_string())
    except UnicodeEncodeError:
        return pa.array([_text(_whole(value)) for value in values], pa.large_string())


def _text(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, str):
        return "t" + value
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return "r" + value.hex()
    if isinstance(value, Undecodable):
        return "u" + value.raw.hex()
    assert isinstance(value, bytes)
    return "b" + value.hex()


def _whole(value: object) -> object:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return Undecodable(value.encode("utf-8", "surrogateescape"))
    return value


def rows_of(block: bytes) -> Iterator[list[Any]]:
    """Yields the values of each line of a block of whole lines."""
    for line in block.decode().split("\n")[:-1]:
        yield [_value(field) for field in line.split("\t")]


_READ: dict[str, Callable[[str], Any]] = {
    "t": str,
    "r": float.fromhex,
    "b": bytes.fromhex,
    "d": float,
    "u": lambda digits: Undecodable(bytes.fromhex(digits)),
}


def _value(field: str) -> Any:
    if field == _NULL:
        return None
    return value_of(_ESCAPED.sub(lambda found: _LETTERS[found[1]], field) if "\\" in field else field)


def value_of(text: str) -> Any:
    """The value of a text that is not escaped."""
    read = _READ.get(text[0])
    return int(text) if read is None else read(text[1:])


_AFFINITIES = (
    ("INTEGER", r"INT"),
    ("TEXT", r"CHAR|CLOB|TEXT"),
    ("BLOB", r"BLOB|^$"),
    ("REAL", r"REAL|FLOA|DOUB"),
    ("NUMERIC", r""),
)


def stored(declared: str, values: Sequence[Any]) -> list[Any]:
    """What a column makes of values. Of its declared type only the affinity matters, to SQLite itself."""
    affinity = next(name for name, words in _AFFINITIES if re.search(words, declared.upper()))
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE held (place INTEGER PRIMARY KEY, v {affinity})")
        connection.executemany("INSERT INTO held (v) VALUES (?)", ((value,) for value in values))
        return [value for (value,) in connection.execute("SELECT v FROM held ORDER BY place")]
