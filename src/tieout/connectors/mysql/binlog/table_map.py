"""Reads table maps: the descriptions of tables that precede their rows in the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tieout.connectors.mysql.binlog import codes
from tieout.connectors.mysql.binlog.byte_reader import Cursor
from tieout.connectors.mysql.binlog.codes import ENUM, SET, metadata_of
from tieout.model.tables import TableName

_SIGNEDNESS, _CHARSET, _CHARSETS, _NAMES, _SET_LABELS, _ENUM_LABELS = 1, 2, 3, 4, 5, 6
_LABEL_CHARSET, _LABEL_CHARSETS = 10, 11


@dataclass(frozen=True, slots=True)
class LogColumn:
    """A column as the log describes it. `type` is the real one: an ENUM is one, although the log calls it a string.

    `size` depends on the type: the most bytes, the bytes of a length, the digits of a fraction, bits.
    `collation` is a number, 0 for other types than text; `labels` are those of ENUM and SET, in that collation.
    """

    name: str
    type: int
    size: int
    scale: int
    nullable: bool
    unsigned: bool = False
    collation: int = 0
    labels: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class TableMap:
    """A table whose rows follow. `named`: the log has the columns' names (binlog_row_metadata=FULL)."""

    name: TableName
    columns: tuple[LogColumn, ...]
    named: bool


def table_id(body: bytes) -> int:
    return int.from_bytes(body[:6], "little")


def table_name(body: bytes) -> TableName:
    """Reads only the name."""
    return _name(Cursor(body, 8))


def table_map(body: bytes, mariadb: bool) -> TableMap:
    cursor = Cursor(body, 8)
    name = _name(cursor)
    codes = cursor.string()
    sizes = Cursor(cursor.string())
    nulls = int.from_bytes(cursor.take((len(codes) + 7) // 8), "little")
    forms = [metadata_of(code, sizes) for code in codes]
    metadata = _Metadata([real for real, _, _ in forms], _extras(cursor), mariadb)
    columns = tuple(
        LogColumn(
            metadata.names[index] if metadata.names else str(index + 1),
            *form,
            nullable=bool(nulls >> index & 1),
            unsigned=index in metadata.unsigned,
            collation=metadata.collations.get(index, 0),
            labels=metadata.labels.get(index, ()),
        )
        for index, form in enumerate(forms)
    )
    return TableMap(name, columns, named=bool(metadata.names) or not columns)


def _name(cursor: Cursor) -> TableName:
    schema = cursor.take(cursor.byte()).decode()
    cursor.byte()  # a zero after each name
    table = cursor.take(cursor.byte()).decode()
    cursor.byte()
    return TableName(schema, table)


def _extras(cursor: Cursor) -> dict[int, bytes]:
    found = {}
    while cursor:
        kind = cursor.byte()
        found[kind] = cursor.string()
    return found


class _Metadata:
    """The optional part of a table map: each field counts only the columns that it is about."""

    def __init__(self, reals: Sequence[int], extras: dict[int, bytes], mariadb: bool) -> None:
        text = codes.TEXT | {codes.GEOMETRY} if mariadb else codes.TEXT
        self._reals = reals
        self._extras = extras
        self.names = self._names()
        self.unsigned = self._unsigned()
        self.collations = {
            **self._collations(self._where(text), _CHARSET, _CHARSETS),
            **self._collations(self._where({ENUM, SET}), _LABEL_CHARSET, _LABEL_CHARSETS),
        }
        self.labels = {**self._labels(ENUM, _ENUM_LABELS), **self._labels(SET, _SET_LABELS)}

    def _where(self, reals: set[int] | frozenset[int]) -> list[int]:
        return [index for index, real in enumerate(self._reals) if real in reals]

    def _names(self) -> list[str]:
        return [name.decode() for name in _strings(self._extras.get(_NAMES, b""))]

    def _unsigned(self) -> set[int]:
        bits = self._extras.get(_SIGNEDNESS, b"")
        numeric = self._where(codes.NUMERIC)
        return {index for place, index in enumerate(numeric[: len(bits) * 8]) if bits[place // 8] & 0x80 >> place % 8}

    def _collations(self, columns: list[int], default: int, each: int) -> dict[int, int]:
        if each in self._extras:
            return dict(zip(columns, Cursor(self._extras[each]).numbers(), strict=False))
        if default not in self._extras:
            return {}
        usual, *others = Cursor(self._extras[default]).numbers()
        special = {columns[place]: collation for place, collation in zip(others[::2], others[1::2], strict=True)}
        return dict.fromkeys(columns, usual) | special

    def _labels(self, real: int, kind: int) -> dict[int, tuple[bytes, ...]]:
        cursor = Cursor(self._extras.get(kind, b""))
        found = {}
        for index in self._where({real}):
            if cursor:
                found[index] = tuple(cursor.string() for _ in range(cursor.number()))
        return found


def _strings(data: bytes) -> Iterator[bytes]:
    cursor = Cursor(data)
    while cursor:
        yield cursor.string()
