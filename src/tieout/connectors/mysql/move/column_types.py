"""The types in which MySQL holds the columns of other engines."""

from __future__ import annotations

from collections.abc import Mapping

from tieout.connectors.mysql import quoting
from tieout.connectors.sql.ddl import Unholdable
from tieout.model.tables import Column, Table
from tieout.model.types import LogicalType, TypeName

NAME_LETTERS = 64
INDEXED_BYTES = 3072
"""What an index has room for."""

# As other engines compare text: by its letters, case and trailing spaces included.
_COLLATION = "CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin"
_LETTER = 4
_MOST_DIGITS, _MOST_SCALE, _MOST_BITS, _LONGEST_CHAR = 65, 38, 64, 255
_ROW_BYTES = 60_000
"""A row has room for 65,535, texts of unbounded types aside."""

_SIMPLE = {
    TypeName.BOOLEAN: "TINYINT(1)",
    TypeName.FLOAT32: "FLOAT",
    TypeName.FLOAT64: "DOUBLE",
    TypeName.DATE: "DATE",
    TypeName.JSON: "JSON",
    TypeName.UUID: "UUID",
    TypeName.YEAR: "YEAR",
}
_TEXTUAL = (TypeName.TEXT, TypeName.CHAR)
_UNBOUNDED = ("LONGTEXT", "LONGBLOB", "JSON")
_POINTER = 32
"""What a value of any other type takes at most, and one of an unbounded type leaves in its row."""

_ELEMENTS = {"inet", "cidr", "macaddr", "macaddr8", "money", "xml", "oid"}
"""Opaque types whose arrays are JSON texts, in chunks and in logs alike. Of others that can't be told."""


def column_types(table: Table) -> Mapping[str, str] | list[Unholdable]:
    """A type for each column that holds all its values; or those for which there is none."""
    room = _room(table)
    types = {column.name: column_type(column, room if column.name in table.key else None) for column in table.columns}
    refused = [kind for kind in types.values() if isinstance(kind, Unholdable)] + _clashing(table)
    return refused or _narrowed(table, {name: kind for name, kind in types.items() if isinstance(kind, str)})


def column_type(column: Column, key_room: int | None = None) -> str | Unholdable:
    """A type that holds every value of the column. `key_room`: how many bytes it may have in a key."""
    t = column.type
    if column.generated:
        return Unholdable(column.name, "it is generated, and the source's log does not tell it")
    if t.name in _SIMPLE:
        return _SIMPLE[t.name]
    if t.name is TypeName.INTEGER:
        return _integer(t)
    if t.name is TypeName.DECIMAL:
        return _decimal(column)
    if t.name in (*_TEXTUAL, TypeName.ENUM):
        return f"{_enum(t) if t.name is TypeName.ENUM else _text(t, key_room)} {_COLLATION}"
    if t.name is TypeName.BINARY:
        return f"VARBINARY({key_room})" if key_room else "LONGBLOB"
    if t.name in (TypeName.TIMESTAMP, TypeName.INSTANT):
        # A TIMESTAMP of MySQL ends in 2038; moments are written in UTC.
        return f"DATETIME({_fraction(t)})"
    if t.name is TypeName.TIME:
        return f"TIME({_fraction(t)})"
    if t.name is TypeName.BITS and t.precision is not None and t.precision <= _MOST_BITS:
        return f"BIT({t.precision})"
    return "JSON" if _is_array(t) else Unholdable(column.name, f"MySQL has no type that holds {t.native}")


def text_bytes(kind: str) -> int:
    """What a column of text or bytes takes in an index; 0 for other types, and more than it holds if unbounded."""
    if kind.startswith(_UNBOUNDED):
        return INDEXED_BYTES + 1
    if kind.startswith(("CHAR", "VARCHAR")):
        return _LETTER * int(kind.split("(")[1].split(")", maxsplit=1)[0])
    return int(kind.split("(")[1].rstrip(")")) if kind.startswith("VARBINARY") else 0


def _fraction(t: LogicalType) -> int:
    return 6 if t.precision is None else t.precision


def _decimal(column: Column) -> str | Unholdable:
    t = column.type
    if t.precision is None:
        return Unholdable(column.name, f"{t.native} may have more digits than a DECIMAL of MySQL")
    # A negative scale is zeros at the end; one above the precision is zeros behind the point.
    digits, scale = t.precision - min(t.scale or 0, 0), max(t.scale or 0, 0)
    if max(digits, scale) > _MOST_DIGITS or scale > _MOST_SCALE:
        return Unholdable(column.name, f"{t.native} has more digits than a DECIMAL of MySQL")
    return f"DECIMAL({max(digits, scale)}, {scale})"


def _integer(t: LogicalType) -> str:
    names = {8: "TINYINT", 16: "SMALLINT", 24: "MEDIUMINT", 32: "INT"}
    return f"{names.get(t.precision or 64, 'BIGINT')}{' UNSIGNED' if t.unsigned else ''}"


def _enum(t: LogicalType) -> str:
    # Of labels MySQL drops spaces at the end, and takes an empty one for an error.
    if any(not label or label.endswith(" ") for label in t.values):
        return f"VARCHAR({max(1, *map(len, t.values))})"
    return f"ENUM({', '.join(map(quoting.backslashed, t.values))})"


def _text(t: LogicalType, key_room: int | None) -> str:
    most = None if key_room is None else key_room // _LETTER
    length = t.precision or 0
    if length and (most is None or length <= most):
        if t.name is TypeName.CHAR and length <= _LONGEST_CHAR:
            return f"CHAR({length})"
        if _LETTER * length <= _ROW_BYTES:
            return f"VARCHAR({length})"
    return f"VARCHAR({most})" if most else "LONGTEXT"


def _is_array(t: LogicalType) -> bool:
    element = t.element
    return element is not None and (element.name is not TypeName.OPAQUE or element.native in _ELEMENTS)


def _room(table: Table) -> int:
    long = [name for name in table.key if table.column(name).type.name in (*_TEXTUAL, TypeName.BINARY)]
    return (INDEXED_BYTES - _POINTER * (len(table.key) - len(long))) // max(1, len(long))


def _clashing(table: Table) -> list[Unholdable]:
    """MySQL takes no two columns whose names differ in case alone, and not every name."""
    seen: dict[str, str] = {}
    found = []
    for name in (table.name.name, *table.column_names):
        if (reason := unholdable_name(name)) is not None:
            found.append(Unholdable(name, reason))
        if name in table.column_names and (other := seen.setdefault(name.casefold(), name)) != name:
            found.append(Unholdable(name, f"for MySQL it has the same name as {other}"))
    return found


def unholdable_name(name: str) -> str | None:
    """Why MySQL can't call anything so."""
    if name.endswith((" ", "\t", "\n", "\v", "\f", "\r")):
        return "a name of MySQL does not end with a space"
    if len(name) > NAME_LETTERS:
        return f"a name of MySQL has {NAME_LETTERS} letters at most"
    if any(ord(letter) > 0xFFFF for letter in name):
        return "a name of MySQL has no letters beyond U+FFFF"
    return None


def _narrowed(table: Table, types: dict[str, str]) -> dict[str, str]:
    """The longest texts are made unbounded until a row has room for all."""
    while sum(map(_row_bytes, types.values())) > _ROW_BYTES:
        free = [name for name in types if name not in table.key and types[name].startswith("VARCHAR")]
        if not free:
            break
        types[max(free, key=lambda name: _row_bytes(types[name]))] = f"LONGTEXT {_COLLATION}"
    return types


def _row_bytes(kind: str) -> int:
    return _POINTER if kind.startswith(_UNBOUNDED) else _POINTER + text_bytes(kind)
