"""A table of another engine as it would be made on a MySQL server.

Its checks, and indexes on anything but whole columns, are in the other engine's words: they are not taken over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tieout.connectors.defaults import DefaultKind, plain_default
from tieout.connectors.mysql.moving.column_types import INDEXED_BYTES, column_types, literal, text_bytes
from tieout.connectors.structure import PARENT, TABLE, ForeignKey, Part, Reference, Structure, Unholdable, Wiring
from tieout.model.tables import Column, Index, Table
from tieout.model.types import TypeName

_PREFIX = 191
"""Letters of a long text that an index takes."""


def structure_of(table: Table, wiring: Wiring) -> Structure | list[Unholdable]:
    types = column_types(table)
    if isinstance(types, list):
        return types
    lines = [_declared(column, types[column.name]) for column in table.columns]
    if table.key:
        lines.append(f"PRIMARY KEY ({_names(table.key)})")
    create = f"CREATE TABLE {TABLE} (\n  " + ",\n  ".join(lines) + "\n) ENGINE = InnoDB"
    own = [index for index in table.indexes if not index.primary and index.columns != table.key]
    plain = [index for index in own if not index.unique and not _has_documents(table, index)]
    unique = [index for index in own if index.unique]
    indexed = [table.key, *(index.columns for index in (*plain, *unique))]
    numbered = _numbered(wiring, {columns[0] for columns in indexed if columns})
    return Structure(
        (create,),
        _added([f"ADD KEY {_quote(_index_name(i))} ({_parts(types, i.columns)})" for i in plain], plain),
        (
            # Of a text that is too long for an index, MariaDB keeps a hash.
            *_added([f"ADD UNIQUE KEY {_quote(_index_name(i))} ({_names(i.columns)})" for i in unique], unique),
            *(Part("", f"ALTER TABLE {TABLE} MODIFY {_quote(n)} {types[n]} NOT NULL AUTO_INCREMENT") for n in numbered),
        ),
        tuple(_foreign_key(table, reference) for reference in wiring.references),
        tuple(f"ALTER TABLE {TABLE} AUTO_INCREMENT = {number:d}" for number in numbered.values()),
    )


def _declared(column: Column, kind: str) -> str:
    return f"{_quote(column.name)} {kind}{'' if column.nullable else ' NOT NULL'}{_default(column)}"


def _default(column: Column) -> str:
    default = plain_default(column)
    if default is None:
        return ""
    if default.kind is DefaultKind.NOW:
        digits = 6 if column.type.precision is None else column.type.precision
        # A moment is kept in UTC; a time of day is that of whoever writes it.
        return f" DEFAULT ({'UTC' if column.type.name is TypeName.INSTANT else 'CURRENT'}_TIMESTAMP({digits}))"
    return f" DEFAULT {default.text if default.kind is DefaultKind.NUMBER else literal(default.text)}"


def _numbered(wiring: Wiring, indexed: set[str]) -> Mapping[str, int]:
    """One column a table may be numbered, and an index has to begin with it."""
    return dict([(name, number) for name, number in wiring.numbers.items() if name in indexed][:1])


def _has_documents(table: Table, index: Index) -> bool:
    return any(table.column(name).type.name in (TypeName.JSON, TypeName.ARRAY) for name in index.columns)


def _parts(types: Mapping[str, str], columns: Sequence[str]) -> str:
    """Of texts that are too long together an index takes the beginning."""
    sizes = {name: text_bytes(types[name]) for name in columns}
    if sum(sizes.values()) + 32 * len(columns) <= INDEXED_BYTES:
        return _names(columns)
    prefix = min(_PREFIX, INDEXED_BYTES // len(columns) // 4 - 8)
    return ", ".join(_quote(name) + (f"({prefix})" if sizes[name] > 4 * prefix else "") for name in columns)


def _added(lines: Sequence[str], indexes: Sequence[Index]) -> tuple[Part, ...]:
    """In one statement: the table is read once for all of them, and all of them are there or none."""
    return (Part(_index_name(indexes[0]), f"ALTER TABLE {TABLE} {', '.join(lines)}"),) if lines else ()


def _foreign_key(table: Table, reference: Reference) -> ForeignKey:
    # A name is a whole database's here, and a table's own in PostgreSQL.
    own = table.name.name
    name = reference.name if reference.name.startswith(own) else f"{own}_{reference.name}"[:64]
    # SET DEFAULT is not for InnoDB; without an action a parent can't be deleted either.
    on_delete, on_update = (
        "NO ACTION" if action == "SET DEFAULT" else action for action in (reference.on_delete, reference.on_update)
    )
    statement = (
        f"ALTER TABLE {TABLE} ADD CONSTRAINT {_quote(name)} FOREIGN KEY ({_names(reference.columns)}) "
        f"REFERENCES {PARENT} ({_names(reference.parent_columns)}) ON DELETE {on_delete} ON UPDATE {on_update}"
    )
    return ForeignKey(Part(name, statement), reference.parent)


def _index_name(index: Index) -> str:
    # One name MySQL keeps for itself.
    return f"{index.name}_" if index.name.upper() == "PRIMARY" else index.name


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(_quote, names))


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
