"""A table of another engine as it would be made on a MySQL server.

Its checks, and indexes on anything but whole columns, are in the other engine's words: they are not taken over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2s

from tieout.connectors.mysql import quoting
from tieout.connectors.mysql.move.column_types import INDEXED_BYTES, column_types, text_bytes, unholdable_name
from tieout.connectors.sql.ddl import (
    PARENT,
    TABLE,
    DefaultKind,
    ForeignKey,
    Part,
    Reference,
    Structure,
    Unholdable,
    Wiring,
    plain_default,
)
from tieout.model.tables import Column, Index, Table
from tieout.model.types import TypeName

_PREFIX = 191
"""Letters of a long text that an index takes."""


def structure_of(table: Table, wiring: Wiring) -> Structure | list[Unholdable]:
    types = column_types(table)
    if isinstance(types, list):
        return types
    columns = {column.name: _declared(column, types[column.name]) for column in table.columns}
    lines = list(columns.values())
    if table.key:
        lines.append(f"PRIMARY KEY ({quoting.names(table.key)})")
    create = f"CREATE TABLE {TABLE} (\n  " + ",\n  ".join(lines) + "\n) ENGINE = InnoDB"
    own = [index for index in table.indexes if not index.primary and index.columns != table.key]
    plain = [index for index in own if not index.unique and not _has_documents(table, index)]
    unique = [index for index in own if index.unique]
    indexed = [table.key, *(index.columns for index in (*plain, *unique))]
    numbered = _numbered(wiring, {columns[0] for columns in indexed if columns})
    called = _index_names([*plain, *unique])
    return Structure(
        (create,),
        _added({called[i.name]: f"({_parts(types, i.columns)})" for i in plain}, "KEY"),
        (
            # Of a text that is too long for an index, MariaDB keeps a hash.
            *_added({called[i.name]: f"({quoting.names(i.columns)})" for i in unique}, "UNIQUE KEY"),
            *(
                Part("", f"ALTER TABLE {TABLE} MODIFY {quoting.name(n)} {types[n]} NOT NULL AUTO_INCREMENT")
                for n in numbered
            ),
        ),
        tuple(_foreign_key(table, reference) for reference in wiring.references),
        tuple(f"ALTER TABLE {TABLE} AUTO_INCREMENT = {number:d}" for number in numbered.values()),
        columns=columns,
    )


def _declared(column: Column, kind: str) -> str:
    return f"{quoting.name(column.name)} {kind}{'' if column.nullable else ' NOT NULL'}{_default(column)}"


def _default(column: Column) -> str:
    default = plain_default(column)
    if default is None:
        return ""
    if default.kind is DefaultKind.NOW:
        digits = 6 if column.type.precision is None else column.type.precision
        # A moment is kept in UTC; a time of day is that of whoever writes it.
        return f" DEFAULT ({'UTC' if column.type.name is TypeName.INSTANT else 'CURRENT'}_TIMESTAMP({digits}))"
    return f" DEFAULT {default.text if default.kind is DefaultKind.NUMBER else quoting.backslashed(default.text)}"


def _numbered(wiring: Wiring, indexed: set[str]) -> Mapping[str, int]:
    """One column a table may be numbered, and an index has to begin with it."""
    return dict([(name, number) for name, number in wiring.numbers.items() if name in indexed][:1])


def _has_documents(table: Table, index: Index) -> bool:
    return any(table.column(name).type.name in (TypeName.JSON, TypeName.ARRAY) for name in index.columns)


def _parts(types: Mapping[str, str], columns: Sequence[str]) -> str:
    """Of texts that are too long together an index takes the beginning."""
    sizes = {name: text_bytes(types[name]) for name in columns}
    if sum(sizes.values()) + 32 * len(columns) <= INDEXED_BYTES:
        return quoting.names(columns)
    prefix = min(_PREFIX, INDEXED_BYTES // len(columns) // 4 - 8)
    return ", ".join(quoting.name(name) + (f"({prefix})" if sizes[name] > 4 * prefix else "") for name in columns)


def _added(keys: Mapping[str, str], kind: str) -> tuple[Part, ...]:
    """In one statement: the table is read once for all of them, and all of them are there or none."""
    if not keys:
        return ()
    lines = [f"ADD {kind} {quoting.name(name)} {columns}" for name, columns in keys.items()]
    return (Part(next(iter(keys)), f"ALTER TABLE {TABLE} {', '.join(lines)}"),)


def _foreign_key(table: Table, reference: Reference) -> ForeignKey:
    # A name is a whole database's here, and a table's own in PostgreSQL.
    own = table.name.name
    name = _holdable(reference.name if reference.name.startswith(own) else f"{own}_{reference.name}")
    # SET DEFAULT is not for InnoDB; without an action a parent can't be deleted either.
    on_delete, on_update = (
        "NO ACTION" if action == "SET DEFAULT" else action for action in (reference.on_delete, reference.on_update)
    )
    statement = (
        f"ALTER TABLE {TABLE} ADD CONSTRAINT {quoting.name(name)} FOREIGN KEY ({quoting.names(reference.columns)}) "
        f"REFERENCES {PARENT} ({quoting.names(reference.parent_columns)}) ON DELETE {on_delete} ON UPDATE {on_update}"
    )
    return ForeignKey(Part(name, statement), reference.parent)


def _index_names(indexes: Sequence[Index]) -> dict[str, str]:
    """What each is called. MySQL does not tell names apart by their case, and keeps two for itself."""
    names: dict[str, str] = {}
    taken = {"gen_clust_index"}
    for index in indexes:
        name = _holdable(f"{index.name}_" if index.name.upper() == "PRIMARY" else index.name)
        name = _told_apart(index.name) if name.casefold() in taken else name
        taken.add(name.casefold())
        names[index.name] = name
    return names


def _holdable(name: str) -> str:
    """As it is, if a name of MySQL can be that: cut without a word, two of them could be one."""
    return name if unholdable_name(name) is None else _told_apart(name)


def _told_apart(name: str) -> str:
    short = "".join(letter if ord(letter) < 0x10000 else "_" for letter in name[:40]).rstrip()
    return f"{short}_{blake2s(name.encode(), digest_size=6).hexdigest()}"
