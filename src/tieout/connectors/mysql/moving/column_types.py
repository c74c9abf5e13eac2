"""The types in which MySQL holds the columns of other engines."""

from __future__ import annotations

from collections.abc import Sequence

from tieout.connectors.structure import TABLE, Structure, Unholdable
from tieout.model.tables import Column, Table
from tieout.model.types import LogicalType, TypeName

# As other engines compare text: by its letters, case and trailing spaces included.
_COLLATION = "CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin"
_INDEXED_BYTES = 3072
_MOST_DIGITS, _MOST_SCALE = 65, 38
_SIMPLE = {
    TypeName.BOOLEAN: "TINYINT(1)",
    TypeName.FLOAT32: "FLOAT",
    TypeName.FLOAT64: "DOUBLE",
    TypeName.DATE: "DATE",
    TypeName.JSON: "JSON",
    TypeName.ARRAY: "JSON",
    TypeName.UUID: "UUID",
    TypeName.YEAR: "YEAR",
}
_TEXTUAL = (TypeName.TEXT, TypeName.CHAR, TypeName.ENUM)


def structure_of(table: Table) -> Structure | list[Unholdable]:
    """The table with its key; indexes and constraints of another engine are not taken over."""
    room = _room(table)
    types = {column.name: column_type(column, room if column.name in table.key else None) for column in table.columns}
    refused = [kind for kind in types.values() if isinstance(kind, Unholdable)]
    if refused:
        return refused
    lines = [
        f"{_quote(column.name)} {types[column.name]}{'' if column.nullable else ' NOT NULL'}"
        for column in table.columns
    ]
    if table.key:
        lines.append(f"PRIMARY KEY ({', '.join(map(_quote, table.key))})")
    plain = [index for index in table.indexes if not index.unique and not index.primary]
    indexes = [f"ADD KEY {_quote(i.name)} ({_parts(table, i.columns)})" for i in plain]
    unique = [
        f"ADD UNIQUE KEY {_quote(i.name)} ({', '.join(map(_quote, i.columns))})"
        for i in table.indexes
        if i.unique and not i.primary and i.columns != table.key and _fits(table, i.columns)
    ]
    return Structure(
        (f"CREATE TABLE {TABLE} (\n  " + ",\n  ".join(lines) + "\n) ENGINE = InnoDB",),
        (f"ALTER TABLE {TABLE} {', '.join(indexes)}",) if indexes else (),
        (f"ALTER TABLE {TABLE} {', '.join(unique)}",) if unique else (),
    )


def column_type(column: Column, key_room: int | None = None) -> str | Unholdable:
    """A type that holds every value of the column. `key_room`: how many bytes it may have in a key."""
    t = column.type
    if t.name in _SIMPLE:
        return _SIMPLE[t.name]
    if t.name is TypeName.INTEGER:
        return _integer(t)
    if t.name is TypeName.DECIMAL:
        return _decimal(column)
    if t.name is TypeName.ENUM:
        return f"ENUM({', '.join(_literal(value) for value in t.values)}) {_COLLATION}"
    if t.name in _TEXTUAL:
        return f"{_text(t, key_room)} {_COLLATION}"
    if t.name is TypeName.BINARY:
        return f"VARBINARY({key_room})" if key_room else "LONGBLOB"
    if t.name in (TypeName.TIMESTAMP, TypeName.INSTANT):
        # A TIMESTAMP of MySQL ends in 2038; moments are written in UTC.
        return f"DATETIME({6 if t.precision is None else t.precision})"
    if t.name is TypeName.TIME:
        return f"TIME({6 if t.precision is None else t.precision})"
    if t.name is TypeName.BITS and t.precision is not None and t.precision <= 64:
        return f"BIT({t.precision})"
    return Unholdable(column.name, f"MySQL has no type that holds {t.native}")


def _decimal(column: Column) -> str | Unholdable:
    digits, scale = column.type.precision, column.type.scale or 0
    if digits is None or digits > _MOST_DIGITS or not 0 <= scale <= _MOST_SCALE:
        return Unholdable(column.name, f"{column.type.native} may have more digits than a DECIMAL of MySQL")
    return f"DECIMAL({digits}, {scale})"


def _integer(t: LogicalType) -> str:
    names = {8: "TINYINT", 16: "SMALLINT", 24: "MEDIUMINT", 32: "INT"}
    return f"{names.get(t.precision or 64, 'BIGINT')}{' UNSIGNED' if t.unsigned else ''}"


def _text(t: LogicalType, key_room: int | None) -> str:
    if t.name is TypeName.CHAR and t.precision is not None and t.precision <= 255:
        return f"CHAR({t.precision})"
    if t.precision is not None and t.precision <= (key_room or 16_000) // (4 if key_room else 1):
        return f"VARCHAR({t.precision})"
    return f"VARCHAR({key_room // 4})" if key_room else "LONGTEXT"


def _room(table: Table) -> int:
    long = [name for name in table.key if table.column(name).type.name in (*_TEXTUAL, TypeName.BINARY)]
    return (_INDEXED_BYTES - 8 * (len(table.key) - len(long))) // max(1, len(long))


def _parts(table: Table, columns: Sequence[str]) -> str:
    """Of text of any length an index takes the beginning."""
    return ", ".join(_quote(name) + ("" if _fits(table, [name]) else "(191)") for name in columns)


def _fits(table: Table, columns: Sequence[str]) -> bool:
    kinds = (str(column_type(table.column(name))) for name in columns)
    return not any(kind.startswith(("LONGTEXT", "LONGBLOB", "JSON")) for kind in kinds)


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
