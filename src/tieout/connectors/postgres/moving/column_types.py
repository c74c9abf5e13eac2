"""The types in which PostgreSQL holds the columns of other engines."""

from __future__ import annotations

from tieout.connectors.structure import TABLE, Structure, Unholdable
from tieout.model.tables import Column, Index, Table
from tieout.model.types import LogicalType, TypeName

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


def structure_of(table: Table) -> Structure | list[Unholdable]:
    """The table with its key and its indexes; constraints of another engine are not taken over."""
    types = {column.name: column_type(column) for column in table.columns}
    refused = [kind for kind in types.values() if isinstance(kind, Unholdable)]
    if refused:
        return refused
    lines = [
        f"{_quote(column.name)} {types[column.name]}{'' if column.nullable else ' NOT NULL'}"
        for column in table.columns
    ]
    # Built over rows that are there, an index takes half the time.
    key = (f"ALTER TABLE {TABLE} ADD PRIMARY KEY ({', '.join(map(_quote, table.key))})",) if table.key else ()
    own = [index for index in table.indexes if not index.primary and index.columns != table.key]
    return Structure(
        (f"CREATE TABLE {TABLE} (\n  " + ",\n  ".join(lines) + "\n)",),
        (*key, *(_index(index) for index in own if not index.unique and _sorts(table, index))),
        tuple(_index(index) for index in own if index.unique and _sorts(table, index)),
    )


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


def _index(index: Index) -> str:
    columns = ", ".join(map(_quote, index.columns))
    return f"CREATE {'UNIQUE ' if index.unique else ''}INDEX ON {TABLE} ({columns})"


def _sorts(table: Table, index: Index) -> bool:
    return all(table.column(name).type.name is not TypeName.JSON for name in index.columns)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
