"""DDL for a table of another engine on a MySQL server, and the types that hold its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2s

from tieout.connectors.mysql import quoting
from tieout.connectors.sql.ddl import (
    PARENT,
    TABLE,
    DefaultKind,
    ForeignKey,
    Part,
    Reference,
    Structure,
    UnsupportedColumn,
    Wiring,
    plain_default,
)
from tieout.model.tables import Column, Index, Table
from tieout.model.types import LogicalType, TypeName

NAME_LETTERS = 64
INDEXED_BYTES = 3072
"""The most bytes of an index entry."""

# Compares text as other engines do: by its letters, including case and trailing spaces.
_COLLATION = "CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin"
_LETTER = 4
_MOST_DIGITS, _MOST_SCALE, _MOST_BITS, _LONGEST_CHAR = 65, 38, 64, 255
_ROW_BYTES = 60_000
"""A row holds 65,535 bytes, without texts of unbounded types."""

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
"""The most bytes of a value of any other type, and the bytes that an unbounded value has in its row."""

_ELEMENTS = {"inet", "cidr", "macaddr", "macaddr8", "money", "xml", "oid"}
"""Opaque types whose arrays are JSON texts, in chunks and in logs alike. For other types that is unknown."""


def column_types(table: Table) -> Mapping[str, str] | list[UnsupportedColumn]:
    """A type for each column that holds all its values; or the columns without such a type."""
    room = key_room(table)
    types = {column.name: column_type(column, room if column.name in table.key else None) for column in table.columns}
    refused = [kind for kind in types.values() if isinstance(kind, UnsupportedColumn)] + _clashing(table)
    return refused or _narrowed(table, {name: kind for name, kind in types.items() if isinstance(kind, str)})


def column_type(column: Column, key_room: int | None = None) -> str | UnsupportedColumn:
    """A type that holds every value of the column. `key_room`: how many bytes it may have in a key."""
    t = column.type
    if column.generated:
        return UnsupportedColumn(column.name, "the source generates it and its log does not hold it")
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
        # A TIMESTAMP of MySQL ends in 2038; the mover writes instants in UTC.
        return f"DATETIME({_fraction(t)})"
    if t.name is TypeName.TIME:
        return f"TIME({_fraction(t)})"
    if t.name is TypeName.BITS and t.precision is not None and t.precision <= _MOST_BITS:
        return f"BIT({t.precision})"
    return "JSON" if _is_array(t) else UnsupportedColumn(column.name, f"MySQL has no type that holds {t.native}")


def text_bytes(kind: str) -> int:
    """Bytes of a column of text or bytes in an index; 0 for other types, and more than an index holds if unbounded."""
    if kind.startswith(_UNBOUNDED):
        return INDEXED_BYTES + 1
    if kind.startswith(("CHAR", "VARCHAR")):
        return _LETTER * int(kind.split("(")[1].split(")", maxsplit=1)[0])
    return int(kind.split("(")[1].rstrip(")")) if kind.startswith("VARBINARY") else 0


def _fraction(t: LogicalType) -> int:
    return 6 if t.precision is None else t.precision


def _decimal(column: Column) -> str | UnsupportedColumn:
    t = column.type
    if t.precision is None:
        return UnsupportedColumn(column.name, f"{t.native} may have more digits than MySQL's DECIMAL")
    # A negative scale means zeros at the end; a scale above the precision, zeros after the point.
    digits, scale = t.precision - min(t.scale or 0, 0), max(t.scale or 0, 0)
    if max(digits, scale) > _MOST_DIGITS or scale > _MOST_SCALE:
        return UnsupportedColumn(column.name, f"{t.native} has more digits than MySQL's DECIMAL")
    return f"DECIMAL({max(digits, scale)}, {scale})"


def _integer(t: LogicalType) -> str:
    names = {8: "TINYINT", 16: "SMALLINT", 24: "MEDIUMINT", 32: "INT"}
    return f"{names.get(t.precision or 64, 'BIGINT')}{' UNSIGNED' if t.unsigned else ''}"


def _enum(t: LogicalType) -> str:
    # MySQL drops trailing spaces of labels, and uses the empty label for invalid values.
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


def key_room(table: Table) -> int:
    """How many bytes each text of a key may have."""
    long = [name for name in table.key if table.column(name).type.name in (*_TEXTUAL, TypeName.BINARY)]
    return (INDEXED_BYTES - _POINTER * (len(table.key) - len(long))) // max(1, len(long))


def _clashing(table: Table) -> list[UnsupportedColumn]:
    """Names that MySQL does not accept, and columns whose names differ only in case."""
    seen: dict[str, str] = {}
    found = []
    for name in (table.name.name, *table.column_names):
        if (reason := name_problem(name)) is not None:
            found.append(UnsupportedColumn(name, reason))
        if name in table.column_names and (other := seen.setdefault(name.casefold(), name)) != name:
            found.append(UnsupportedColumn(name, f"for MySQL it has the same name as {other}"))
    return found


def name_problem(name: str) -> str | None:
    """Why MySQL does not accept a name; None if it does."""
    if name.endswith((" ", "\t", "\n", "\v", "\f", "\r")):
        return "a name in MySQL cannot end with a space"
    if len(name) > NAME_LETTERS:
        return f"a name in MySQL has at most {NAME_LETTERS} letters"
    if any(ord(letter) > 0xFFFF for letter in name):
        return "a name in MySQL has no letters beyond U+FFFF"
    return None


def _narrowed(table: Table, types: dict[str, str]) -> dict[str, str]:
    """Makes the longest texts unbounded until all columns fit into a row."""
    while sum(map(_row_bytes, types.values())) > _ROW_BYTES:
        free = [name for name in types if name not in table.key and types[name].startswith("VARCHAR")]
        if not free:
            break
        types[max(free, key=lambda name: _row_bytes(types[name]))] = f"LONGTEXT {_COLLATION}"
    return types


def _row_bytes(kind: str) -> int:
    return _POINTER if kind.startswith(_UNBOUNDED) else _POINTER + text_bytes(kind)


_PREFIX = 191
"""Letters of a long text that an index holds."""


def structure_of(table: Table, wiring: Wiring) -> Structure | list[UnsupportedColumn]:
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
            # MariaDB keeps a hash of a text that is too long for an index.
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


def declared(table: Table, names: Sequence[str]) -> Mapping[str, str] | list[UnsupportedColumn]:
    """How CREATE TABLE defines some columns of a table."""
    columns, room = [table.column(name) for name in names], key_room(table)
    types = {column.name: column_type(column, room if column.name in table.key else None) for column in columns}
    refused = [kind for kind in types.values() if isinstance(kind, UnsupportedColumn)]
    refused += [column for column in _clashing(table) if column.column in names]
    return refused or {column.name: _declared(column, str(types[column.name])) for column in columns}


def _declared(column: Column, kind: str) -> str:
    return f"{quoting.name(column.name)} {kind}{'' if column.nullable else ' NOT NULL'}{_default(column)}"


def _default(column: Column) -> str:
    default = plain_default(column)
    if default is None:
        return ""
    if default.kind is DefaultKind.NOW:
        digits = 6 if column.type.precision is None else column.type.precision
        # An instant is stored in UTC; a local time is that of whoever writes it.
        return f" DEFAULT ({'UTC' if column.type.name is TypeName.INSTANT else 'CURRENT'}_TIMESTAMP({digits}))"
    return f" DEFAULT {default.text if default.kind is DefaultKind.NUMBER else quoting.backslashed(default.text)}"


def _numbered(wiring: Wiring, indexed: set[str]) -> Mapping[str, int]:
    """The AUTO_INCREMENT column: a table has at most one, and an index has to start with it."""
    return dict([(name, number) for name, number in wiring.numbers.items() if name in indexed][:1])


def _has_documents(table: Table, index: Index) -> bool:
    return any(table.column(name).type.name in (TypeName.JSON, TypeName.ARRAY) for name in index.columns)


def _parts(types: Mapping[str, str], columns: Sequence[str]) -> str:
    """The columns of an index: prefixes, if whole texts would be too long together."""
    sizes = {name: text_bytes(types[name]) for name in columns}
    if sum(sizes.values()) + 32 * len(columns) <= INDEXED_BYTES:
        return quoting.names(columns)
    prefix = min(_PREFIX, INDEXED_BYTES // len(columns) // 4 - 8)
    return ", ".join(quoting.name(name) + (f"({prefix})" if sizes[name] > 4 * prefix else "") for name in columns)


def _added(keys: Mapping[str, str], kind: str) -> tuple[Part, ...]:
    """One statement for all indexes: the server reads the table once, and adds all of them or none."""
    if not keys:
        return ()
    lines = [f"ADD {kind} {quoting.name(name)} {columns}" for name, columns in keys.items()]
    return (Part(next(iter(keys)), f"ALTER TABLE {TABLE} {', '.join(lines)}"),)


def _foreign_key(table: Table, reference: Reference) -> ForeignKey:
    # Names are unique in a database here, and in a table in PostgreSQL.
    own = table.name.name
    name = _acceptable(reference.name if reference.name.startswith(own) else f"{own}_{reference.name}")
    # InnoDB lacks SET DEFAULT; with NO ACTION, too, a parent with children cannot be deleted.
    on_delete, on_update = (
        "NO ACTION" if action == "SET DEFAULT" else action for action in (reference.on_delete, reference.on_update)
    )
    statement = (
        f"ALTER TABLE {TABLE} ADD CONSTRAINT {quoting.name(name)} FOREIGN KEY ({quoting.names(reference.columns)}) "
        f"REFERENCES {PARENT} ({quoting.names(reference.parent_columns)}) ON DELETE {on_delete} ON UPDATE {on_update}"
    )
    return ForeignKey(Part(name, statement), reference.parent, reference)


def _index_names(indexes: Sequence[Index]) -> dict[str, str]:
    """The names of indexes. MySQL ignores their case, and reserves two names."""
    names: dict[str, str] = {}
    taken = {"gen_clust_index"}
    for index in indexes:
        name = _acceptable(f"{index.name}_" if index.name.upper() == "PRIMARY" else index.name)
        name = _distinct(index.name) if name.casefold() in taken else name
        taken.add(name.casefold())
        names[index.name] = name
    return names


def _acceptable(name: str) -> str:
    """The name itself if MySQL accepts it, else a distinct short one: two shortened names could be equal."""
    return name if name_problem(name) is None else _distinct(name)


def _distinct(name: str) -> str:
    short = "".join(letter if ord(letter) < 0x10000 else "_" for letter in name[:40]).rstrip()
    return f"{short}_{blake2s(name.encode(), digest_size=6).hexdigest()}"
