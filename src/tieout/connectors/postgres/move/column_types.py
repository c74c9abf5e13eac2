"""The types in which PostgreSQL holds the columns of other engines."""

from __future__ import annotations

from collections.abc import Mapping

from tieout.connectors.sql.ddl import Unholdable
from tieout.model.tables import Column, Table
from tieout.model.types import LogicalType, TypeName

NAME_BYTES = 63
"""A longer name would be cut, without a word."""

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
    # As it was written: jsonb would put keys in order, and leave out what is there twice.
    TypeName.JSON: "json",
    TypeName.UUID: "uuid",
    # MySQL's TIME goes beyond a day, and below zero.
    TypeName.TIME: "interval",
}


def column_types(table: Table) -> Mapping[str, str] | list[Unholdable]:
    """A type for each column that holds all its values; or those for which there is none."""
    types = {column.name: column_type(column) for column in table.columns}
    refused = [kind for kind in types.values() if isinstance(kind, Unholdable)] + _misnamed(table)
    return refused or {name: kind for name, kind in types.items() if isinstance(kind, str)}


def column_type(column: Column) -> str | Unholdable:
    """A type that holds every value of the column."""
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
        # Longer than ten million letters a VARCHAR can't be declared, and a text may be.
        return f"varchar({t.precision})" if t.precision and t.native.startswith("varchar") else "text"
    if t.name is TypeName.TIMESTAMP:
        return f"timestamp({6 if t.precision is None else t.precision})"
    if t.name is TypeName.INSTANT:
        return f"timestamptz({6 if t.precision is None else t.precision})"
    if t.name is TypeName.BITS and t.precision is not None:
        return f"bit({t.precision})"
    return Unholdable(column.name, f"PostgreSQL has no type that holds {t.native}")


def _integer(t: LogicalType) -> str:
    bits = (t.precision or 64) + (1 if t.unsigned else 0)
    if bits <= 16:
        return "smallint"
    if bits <= 32:
        return "integer"
    return "bigint" if bits <= 64 else "numeric(20, 0)"


def _misnamed(table: Table) -> list[Unholdable]:
    found = [Unholdable(name, "PostgreSQL has a column of that name in every table") for name in _TAKEN]
    found = [column for column in found if column.column in table.column_names]
    long = [name for name in (table.name.name, *table.column_names) if len(name.encode()) > NAME_BYTES]
    return found + [Unholdable(name, f"a name of PostgreSQL has {NAME_BYTES} bytes at most") for name in long]
