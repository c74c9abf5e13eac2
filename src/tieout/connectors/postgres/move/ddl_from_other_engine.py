"""DDL that creates a table of another engine in PostgreSQL, and the types that can hold its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2s

from tieout.connectors.postgres import quoting
from tieout.connectors.sql.ddl import (
    PARENT,
    SCHEMA,
    TABLE,
    DefaultKind,
    ForeignKey,
    Part,
    Reference,
    Structure,
    UnsupportedColumn,
    Wiring,
    as_text,
    plain_default,
)
from tieout.model.tables import Column, Index, Table
from tieout.model.types import LogicalType, TypeName

NAME_BYTES = 63
TOO_LONG = f"PostgreSQL allows names of at most {NAME_BYTES} bytes"
"""PostgreSQL silently truncates longer names."""

_TAKEN = {"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"}

_SIMPLE = {
    TypeName.BOOLEAN: "boolean",
    TypeName.FLOAT32: "real",
    TypeName.FLOAT64: "double precision",
    TypeName.DATE: "date",
    TypeName.BINARY: "bytea",
    TypeName.YEAR: "smallint",
    TypeName.ENUM: "text",
    TypeName.SET: "text",
    # Keeps the text: jsonb would sort keys and drop duplicates.
    TypeName.JSON: "json",
    TypeName.UUID: "uuid",
    # MySQL's TIME may exceed a day, and may be negative.
    TypeName.TIME: "interval",
}


def column_types(table: Table) -> Mapping[str, str] | list[UnsupportedColumn]:
    """A type for each column that can hold all its values; or the columns for which there is none."""
    types = {column.name: column_type(column) for column in table.columns}
    refused = [kind for kind in types.values() if isinstance(kind, UnsupportedColumn)] + _misnamed(table)
    return refused or {name: kind for name, kind in types.items() if isinstance(kind, str)}


def column_type(column: Column) -> str | UnsupportedColumn:
    """A type that can hold every value of the column."""
    t = column.type
    if t.name in _SIMPLE:
        return _SIMPLE[t.name]
    if t.name is TypeName.INTEGER:
        return _integer(t)
    if t.name is TypeName.DECIMAL:
        return "numeric" if t.precision is None else f"numeric({t.precision}, {t.scale or 0})"
    if t.name is TypeName.CHAR:
        return f"char({t.precision})" if t.precision else "text"
    if t.name is TypeName.TEXT:
        # A VARCHAR can't be declared longer than ten million characters, and a text may be longer.
        return f"varchar({t.precision})" if t.precision and t.native.startswith("varchar") else "text"
    if t.name is TypeName.TIMESTAMP:
        return f"timestamp({6 if t.precision is None else t.precision})"
    if t.name is TypeName.INSTANT:
        return f"timestamptz({6 if t.precision is None else t.precision})"
    if t.name is TypeName.BITS and t.precision is not None:
        return f"bit({t.precision})"
    return UnsupportedColumn(column.name, f"PostgreSQL has no type that holds {t.native}")


def _integer(t: LogicalType) -> str:
    bits = (t.precision or 64) + (1 if t.unsigned else 0)
    if bits <= 16:
        return "smallint"
    if bits <= 32:
        return "integer"
    return "bigint" if bits <= 64 else "numeric(20, 0)"


def _misnamed(table: Table) -> list[UnsupportedColumn]:
    found = [
        UnsupportedColumn(name, "PostgreSQL reserves this name: every table has a system column called so")
        for name in _TAKEN
    ]
    found = [column for column in found if column.column in table.column_names]
    long = [name for name in table.column_names if len(name.encode()) > NAME_BYTES]
    return found + [UnsupportedColumn(name, TOO_LONG) for name in long]


_COUNTED = ("smallint", "integer", "bigint")
_UNBOUNDED = ("text", "blob", "json")


def structure_of(table: Table, wiring: Wiring) -> Structure | list[UnsupportedColumn]:
    types = column_types(table)
    if isinstance(types, list):
        return types
    lines = {column.name: _declared(table, column, types[column.name], wiring) for column in table.columns}
    own = [index for index in table.indexes if not index.primary and index.columns != table.key]
    plain = [index for index in own if not index.unique and not _is_of_words(table, index)]
    apart = [name for name in wiring.numbers if types[name] not in _COUNTED]
    return Structure(
        (
            *(f"CREATE SEQUENCE IF NOT EXISTS {_sequence(table, name)}" for name in apart),
            f"CREATE TABLE {TABLE} (\n  " + ",\n  ".join(lines.values()) + "\n)",
            *(f"ALTER SEQUENCE {_sequence(table, name)} OWNED BY {TABLE}.{quoting.name(name)}" for name in apart),
        ),
        (*_primary(table), *(_index(table, index) for index in plain)),
        tuple(_index(table, index) for index in own if index.unique),
        tuple(map(_foreign_key, wiring.references)),
        tuple(_counter(table, name, number, name in apart) for name, number in wiring.numbers.items()),
        columns=lines,
    )


def declared(table: Table, names: Sequence[str]) -> Mapping[str, str] | list[UnsupportedColumn]:
    """How CREATE TABLE defines some columns of a table."""
    columns = [table.column(name) for name in names]
    types = column_types(replace(table, columns=tuple(columns)))
    if isinstance(types, list):
        return types
    return {column.name: _declared(table, column, types[column.name], Wiring()) for column in columns}


def _declared(table: Table, column: Column, kind: str, wiring: Wiring) -> str:
    line = f"{quoting.name(column.name)} {kind}{'' if column.nullable else ' NOT NULL'}"
    if column.name not in wiring.numbers:
        return line + _default(column)
    if kind in _COUNTED:
        return f"{line} GENERATED BY DEFAULT AS IDENTITY"
    return f"{line} DEFAULT nextval({as_text(_sequence(table, column.name))})"


def _default(column: Column) -> str:
    default = plain_default(column)
    if default is None:
        return ""
    if default.kind is DefaultKind.NOW:
        return " DEFAULT CURRENT_TIMESTAMP"
    return f" DEFAULT {default.text if default.kind is DefaultKind.NUMBER else quoting.text(default.text)}"


def _sequence(table: Table, column: str) -> str:
    """The sequence of a column that can't be an identity, because its numbers may exceed 2^63."""
    return f"{SCHEMA}.{quoting.name(_name(table.name.name, column, 'seq'))}"


def _counter(table: Table, column: str, number: int, is_apart: bool) -> str:
    found = f"pg_get_serial_sequence({as_text(TABLE)}, {quoting.text(column)})"
    sequence = as_text(_sequence(table, column)) if is_apart else found
    return f"SELECT setval({sequence}, {min(number, (1 << 63) - 1):d}, false)"


def _primary(table: Table) -> list[Part]:
    """Created after the copy: with an index in place, the server would look up the key of every row."""
    if not table.key:
        return []
    name = _name(table.name.name, "pkey")
    return [
        Part(name, f"ALTER TABLE {TABLE} ADD CONSTRAINT {quoting.name(name)} PRIMARY KEY ({quoting.names(table.key)})")
    ]


def _index(table: Table, index: Index) -> Part:
    # Index names are unique within a schema here, and within a table in MySQL.
    name = _name(table.name.name, index.name, "")
    head = f"CREATE {'UNIQUE ' if index.unique else ''}INDEX {quoting.name(name)} ON {TABLE}"
    return Part(name, f"{head} ({quoting.names(index.columns)})")


def _is_of_words(table: Table, index: Index) -> bool:
    """True for a full-text index: MySQL's other indexes on unbounded texts are prefix indexes, not listed here."""
    return any(table.column(name).type.native.endswith(_UNBOUNDED) for name in index.columns)


def _foreign_key(reference: Reference) -> ForeignKey:
    name = _name(reference.name)
    statement = (
        f"ALTER TABLE {TABLE} ADD CONSTRAINT {quoting.name(name)} FOREIGN KEY ({quoting.names(reference.columns)}) "
        f"REFERENCES {PARENT} ({quoting.names(reference.parent_columns)}) "
        f"ON DELETE {reference.on_delete} ON UPDATE {reference.on_update}"
    )
    return ForeignKey(Part(name, statement), reference.parent, reference)


def _name(*words: str) -> str:
    name = "_".join(word for word in words if word)
    if len(name.encode()) <= NAME_BYTES:
        return name
    return f"{name[:12]}_{blake2s(name.encode(), digest_size=6).hexdigest()}"
