r"""How SQLite's values are written in tab form, between two SQLite files: each with its class.

An INTEGER is its digits. Others start with a letter: `r` and the hexadecimal digits of a REAL, `t` and a TEXT, `b` and
the hexadecimal digits of a BLOB, `u` and those of a TEXT that is not UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tieout.connectors.protocols.move import TextOf
from tieout.errors import UnsupportedError
from tieout.model.moves import Transfer
from tieout.model.tables import TableName

_NULL = "\\N"
_ESCAPED = re.compile(r"\\(.)")
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}


@dataclass(frozen=True, slots=True)
class Undecodable:
    """A TEXT that is not valid text."""

    raw: bytes


def texts_of(transfer: Transfer) -> Sequence[TextOf]:
    key = {transfer.source_columns[place].name for place in transfer.key}
    return [
        _never_null(transfer.source.name, column.name) if column.name in key else texts
        for column in transfer.source_columns
    ]


def texts(values: Sequence[object]) -> pa.Array:
    try:
        return pa.array([_text(value) for value in values], pa.large_string())
    except UnicodeEncodeError:
        return pa.array([_text(_whole(value)) for value in values], pa.large_string())


def _never_null(table: TableName, column: str) -> TextOf:
    """SQLite allows NULL in a key, in any number of rows."""

    def of_key(values: list[object]) -> pa.Array:
        if None in values:
            raise UnsupportedError(
                f"{table}: {column} is part of the key and NULL in a row, so nothing identifies that row"
            )
        return texts(values)

    return of_key


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
    "r": float.fromhex,
    "b": bytes.fromhex,
    "u": lambda digits: Undecodable(bytes.fromhex(digits)),
}


def _value(field: str) -> Any:
    letter = field[0]
    if letter == "t":
        return _ESCAPED.sub(lambda found: _LETTERS[found[1]], field[1:]) if "\\" in field else field[1:]
    if field == _NULL:
        return None
    read = _READ.get(letter)
    return int(field) if read is None else read(field[1:])
