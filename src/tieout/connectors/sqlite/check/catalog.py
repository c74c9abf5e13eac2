"""The indexes and constraints of a table.

SQLite stores expressions and conditions only in the words of the CREATE statement, so that is parsed for them, for
CHECKs, and for all else that no pragma returns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from tieout.connectors.protocols.check import IndexColumn, IndexInfo
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.connectors.sqlite import quoting
from tieout.connectors.sqlite.dialect import SQLiteDialect
from tieout.connectors.sqlite.endpoint import SQLiteEndpoint
from tieout.connectors.sqlite.tokens import Token, joined, name_of, split_at_commas, stripped, tokens
from tieout.model.canonical_kinds import Form, Incomparable, Kind, common_kind
from tieout.model.constraints import ConstraintInfo, ConstraintKind, Enforcement, Reference
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import LogicalType, TypeName

_DIALECT = SQLiteDialect()
_ROWID_NAMES = ("rowid", "_rowid_", "oid")
_EXPRESSION = -2
_ANY = LogicalType(TypeName.OPAQUE, "any")


def indexes_of(endpoint: SQLiteEndpoint, table: Table) -> list[IndexInfo]:
    """The indexes of a table, sorted by name; not the table itself, even if its key orders it."""
    found = []
    name = _DIALECT.quote(table.name.name)
    for _, index, unique, origin, _ in endpoint.all(f"PRAGMA main.index_list({name})"):
        if origin == "pk" and is_without_rowid(endpoint, table):
            continue
        found.append(_info(endpoint, table, str(index), unique=bool(unique), primary=origin == "pk"))
    return sorted(found, key=lambda info: info.name)


_SPELT = frozenset({Form.DATE, Form.TIMESTAMP, Form.TIME, Form.UUID, Form.JSON})


def is_without_rowid(endpoint: SQLiteEndpoint, table: Table) -> bool:
    listed = {row[1]: row for row in endpoint.all("PRAGMA main.table_list")}
    return bool(listed[table.name.name][4])


def is_rowid(table: Table) -> bool:
    """True if the key is the rowid under another name: the only column that SQLite itself orders as numbers."""
    return len(table.key) == 1 and table.column(table.key[0]).order == "numeric"


def address_of(endpoint: SQLiteEndpoint, table: Table) -> tuple[ScanColumn, ...]:
    """The row address in an index entry: the rowid, or the key of a table without one. Empty if the rowid has no name
    left.
    """
    if is_without_rowid(endpoint, table):
        return tuple(scan_column(table.column(name)) for name in table.key)
    taken = {column.name.casefold() for column in table.columns}
    for name in _ROWID_NAMES:
        if name not in taken:
            return (
                ScanColumn(Column(name, LogicalType(TypeName.INTEGER, "rowid"), nullable=False), Kind(Form.INTEGER)),
            )
    return ()


def rows_alone(endpoint: SQLiteEndpoint, table: Table) -> str:
    """Forces a read of the table itself. Without a rowid NOT INDEXED is not enough: SQLite reads a covering index."""
    if not is_without_rowid(endpoint, table):
        return "NOT INDEXED"
    listed = endpoint.all(f"PRAGMA main.index_list({_DIALECT.quote(table.name.name)})")
    (own,) = (row[1] for row in listed if row[3] == "pk")
    return f"INDEXED BY {_DIALECT.quote(own)}"


def scan_column(column: Column, expression: str | None = None) -> ScanColumn:
    """The column as stored: two spellings of a day, a UUID or a document are one value to people, and two keys to
    SQLite.
    """
    kind = common_kind(column.type, column.type)
    if isinstance(kind, Incomparable):
        kind = Kind(Form.OPAQUE)
    elif kind.form in _SPELT:
        kind = Kind(Form.TEXT)
    return ScanColumn(column, kind, expression)


def _info(endpoint: SQLiteEndpoint, table: Table, name: str, *, unique: bool, primary: bool) -> IndexInfo:
    rows = endpoint.all(f"PRAGMA main.index_xinfo({_DIALECT.quote(name)})")
    known = quoting.text(name)
    definition = endpoint.all(f"SELECT sql FROM main.sqlite_master WHERE type = 'index' AND name = {known}")
    text = definition[0][0] if definition else None
    parts, where = index_words(text) if text else ([], None)
    columns = tuple(_column(table, row, parts) for row in rows if row[5])
    return IndexInfo(name, table, columns, unique, primary, where, text or "")


def _column(table: Table, row: tuple[Any, ...], parts: Sequence[str]) -> IndexColumn:
    place, number, name, descending = row[:4]
    if number == _EXPRESSION:
        text = parts[place]
        return IndexColumn(text, scan_column(Column(text, _ANY), text), descending=bool(descending))
    return IndexColumn(str(name), scan_column(table.column(name)), descending=bool(descending))


def index_words(statement: str) -> tuple[list[str], str | None]:
    """The indexed columns and expressions of a CREATE INDEX, without order and collation, and its condition."""
    parts = tokens(statement)
    on = next(place for place, token in enumerate(parts) if token.depth == 0 and token.says("ON"))
    inside = [token for token in parts[on:] if token.depth > 0]
    listed = [joined(_expression(part)) for part in split_at_commas(inside, 1)]
    after = [place for place, token in enumerate(parts) if place > on and token.depth == 0 and token.says("WHERE")]
    return listed, joined(stripped(parts[after[0] + 1 :])) if after else None


def _expression(part: list[Token]) -> list[Token]:
    words = stripped(part)
    while len(words) > 1 and words[-1].says("ASC", "DESC"):
        words = stripped(words[:-1])
    if len(words) > 2 and words[-1].is_word and words[-3].says("COLLATE") and words[-3].depth == 1:
        words = stripped(words[:-3])
    return words


_OF_TABLE = ("CONSTRAINT", "CHECK", "UNIQUE", "PRIMARY", "FOREIGN")


@dataclass(frozen=True, slots=True)
class Declared:
    """`kind` is CHECK, UNIQUE, PRIMARY or REFERENCES. `expression` is that of a CHECK."""

    kind: str
    name: str | None
    columns: tuple[str, ...]
    expression: str = ""


def declared_in(statement: str, columns: Sequence[str]) -> list[Declared]:
    """The constraints of a CREATE TABLE, in their order there. `columns` are the table's."""
    parts = tokens(statement)
    if any(token.says("VIRTUAL") for token in parts[:4]):
        return []
    body = [token for token in parts if token.depth > 0]
    return [each for part in split_at_commas(body, 1) for each in _Part(part, columns).read()]


class _Part:
    """The text between two commas: a column with its constraints, or constraints of the table."""

    def __init__(self, part: list[Token], columns: Sequence[str]) -> None:
        self._tokens = [token for token in part if token.text != " "]
        self._spaced = part
        self._columns = columns
        first = self._tokens[0] if self._tokens else None
        self._own: tuple[str, ...] = () if first is None or first.says(*_OF_TABLE) else (name_of(first),)

    def read(self) -> list[Declared]:
        found: list[Declared] = []
        name: str | None = None
        listed = self._own
        for place, token in enumerate(self._tokens):
            if token.depth != 1:
                continue
            if token.says("CONSTRAINT"):
                name = name_of(self._tokens[place + 1])
            elif token.says("FOREIGN"):
                listed = self._listed(place + 2)
            elif token.says("UNIQUE", "PRIMARY"):
                after = place + (2 if token.says("PRIMARY") else 1)
                found.append(Declared(token.text.upper(), name, self._listed(after) or self._own))
                name = None
            elif token.says("REFERENCES"):
                found.append(Declared("REFERENCES", name, listed))
                name, listed = None, self._own
            elif token.says("CHECK"):
                found.append(self._check(token, name))
                name = None
        return found

    def _listed(self, place: int) -> tuple[str, ...]:
        """The names in the parentheses at this token, if there are any."""
        if place >= len(self._tokens) or self._tokens[place].text != "(":
            return ()
        inside = self._inside(self._tokens, self._tokens[place])
        return tuple(name_of(stripped(part)[0]) for part in split_at_commas(inside, 2))

    def _check(self, check: Token, name: str | None) -> Declared:
        after = self._spaced[next(place for place, token in enumerate(self._spaced) if token is check) + 1 :]
        expression = self._inside(after, next(token for token in after if token.text == "("))
        words = {name_of(token).casefold() for token in expression if token.is_word or token.text[0] in '"`['}
        named = tuple(column for column in self._columns if column.casefold() in words)
        return Declared("CHECK", name, named, joined(expression))

    def _inside(self, parts: Sequence[Token], opening: Token) -> list[Token]:
        start = next(place for place, token in enumerate(parts) if token is opening) + 1
        end = next(place for place in range(start, len(parts)) if parts[place].depth == opening.depth)
        return list(parts[start:end])


_NO_KEY = "the parent has no unique key on these columns, so SQLite can't look them up"


def constraints_of(endpoint: SQLiteEndpoint, table: Table) -> list[ConstraintInfo]:
    """CHECKs, NOT NULLs, keys and foreign keys. Those without a name are called check_1, primary_key, fk0, or as their
    index.
    """
    name = quoting.text(table.name.name)
    ((statement,),) = endpoint.all(f"SELECT sql FROM main.sqlite_master WHERE type = 'table' AND name = {name}")
    declared = declared_in(statement, table.column_names)
    return [
        *_checks(table, declared),
        *_not_nulls(endpoint, table),
        *_primary_key(endpoint, table, declared),
        *_unique(endpoint, table, declared),
        *_references(endpoint, table, declared),
    ]


def _checks(table: Table, declared: Sequence[Declared]) -> Iterator[ConstraintInfo]:
    checks = [each for each in declared if each.kind == "CHECK"]
    for number, each in enumerate(checks, 1):
        yield ConstraintInfo(
            each.name or f"check_{number}",
            ConstraintKind.CHECK,
            table,
            each.columns,
            each.expression,
            definition=f"CHECK ({each.expression})",
        )


def _not_nulls(endpoint: SQLiteEndpoint, table: Table) -> Iterator[ConstraintInfo]:
    keyed = is_without_rowid(endpoint, table)
    for _, name, _, not_null, _, key, hidden in endpoint.all(f"PRAGMA main.table_xinfo({_quoted(table)})"):
        if (not_null or (keyed and key)) and hidden != 1:
            yield ConstraintInfo(f"{name}_not_null", ConstraintKind.NOT_NULL, table, (name,), definition="NOT NULL")


def _primary_key(endpoint: SQLiteEndpoint, table: Table, declared: Sequence[Declared]) -> Iterator[ConstraintInfo]:
    rows = endpoint.all(f"PRAGMA main.table_xinfo({_quoted(table)})")
    key = tuple(row[1] for row in sorted((row for row in rows if row[5]), key=itemgetter(5)))
    if not key:
        return
    own = [row[1] for row in endpoint.all(f"PRAGMA main.index_list({_quoted(table)})") if row[3] == "pk"]
    sorting = _collations(endpoint, own[0]) if own else {}
    named = [each.name for each in declared if each.kind == "PRIMARY" and each.name]
    yield ConstraintInfo(
        named[0] if named else "primary_key",
        ConstraintKind.PRIMARY_KEY,
        table,
        key,
        compared=tuple(_collated(_DIALECT.quote(column), sorting.get(column)) for column in key),
        definition=f"PRIMARY KEY ({', '.join(key)})",
    )


def _unique(endpoint: SQLiteEndpoint, table: Table, declared: Sequence[Declared]) -> Iterator[ConstraintInfo]:
    names = {_folded(each.columns): each.name for each in declared if each.kind == "UNIQUE" and each.name}
    for index in indexes_of(endpoint, table):
        if not index.unique or index.primary:
            continue
        columns = tuple(column.name for column in index.columns)
        automatic = index.name.startswith("sqlite_autoindex_")
        yield ConstraintInfo(
            (names.get(_folded(columns)) if automatic else None) or index.name,
            ConstraintKind.UNIQUE,
            table,
            columns,
            condition=index.where,
            compared=_compared(endpoint, index),
            index=index.name,
            definition=index.definition or f"UNIQUE ({', '.join(columns)})",
        )


def _compared(endpoint: SQLiteEndpoint, index: IndexInfo) -> tuple[str, ...]:
    rows = [row for row in endpoint.all(f"PRAGMA main.index_xinfo({_DIALECT.quote(index.name)})") if row[5]]
    parts = [
        f"({column.read.expression})" if column.read.expression else _DIALECT.quote(column.name)
        for column in index.columns
    ]
    return tuple(_collated(part, row[4]) for part, row in zip(parts, rows, strict=True))


def _references(endpoint: SQLiteEndpoint, table: Table, declared: Sequence[Declared]) -> Iterator[ConstraintInfo]:
    names = [each.name for each in declared if each.kind == "REFERENCES"]
    names.reverse()  # SQLite numbers them from the last one
    enforced = endpoint.all("PRAGMA foreign_keys") == [(1,)]
    rows = sorted(endpoint.all(f"PRAGMA main.foreign_key_list({_quoted(table)})"), key=itemgetter(0, 1))
    tables = {known.name.casefold(): known.name for known in endpoint.tables()}
    for number, parts in groupby(rows, key=itemgetter(0)):
        listed = list(parts)
        parent, own = tables.get(listed[0][2].casefold(), listed[0][2]), tuple(row[3] for row in listed)
        columns = _parent_columns(endpoint, parent, [row[4] for row in listed])
        sorting = _parent_collations(endpoint, parent, columns)
        pairs = zip(columns, own, strict=True) if sorting is not None and len(columns) == len(own) else ()
        yield ConstraintInfo(
            (names[number] if number < len(names) else None) or f"fk{number}",
            ConstraintKind.FOREIGN_KEY,
            table,
            own,
            compared=tuple(
                f"p.{_DIALECT.quote(theirs)} = {_as_in_parent(mine, (sorting or {}).get(theirs))}"
                for theirs, mine in pairs
            ),
            reference=Reference(TableName("main", parent), columns),
            enforcement=Enforcement.ENFORCED if enforced else Enforcement.DISABLED,
            definition=f"FOREIGN KEY ({', '.join(own)}) REFERENCES {parent} ({', '.join(columns)})",
            unchecked=_NO_KEY if sorting is None or len(columns) != len(own) else None,
        )


def _as_in_parent(column: str, collation: str | None) -> str:
    """A child's value as SQLite compares it: without its own affinity, and as its parent sorts."""
    return _collated(f"+c.{_DIALECT.quote(column)}", collation or "BINARY")


def _parent_columns(endpoint: SQLiteEndpoint, parent: str, named: Sequence[str | None]) -> tuple[str, ...]:
    """The parent's columns that the reference names, as the parent spells them; or its primary key."""
    rows = endpoint.all(f"PRAGMA main.table_xinfo({_DIALECT.quote(parent)})")
    if None in named:
        return tuple(row[1] for row in sorted((row for row in rows if row[5]), key=itemgetter(5)))
    known = {row[1].casefold(): row[1] for row in rows}
    return tuple(known.get(str(name).casefold(), str(name)) for name in named)


def _parent_collations(endpoint: SQLiteEndpoint, parent: str, columns: Sequence[str]) -> dict[str, str] | None:
    """The collation that compares each column of a parent's key; None if the parent has no such key."""
    quoted = _DIALECT.quote(parent)
    for _, index, unique, _, partial in endpoint.all(f"PRAGMA main.index_list({quoted})"):
        found = _collations(endpoint, index)
        if unique and not partial and found.keys() == set(columns):
            return found
    rows = endpoint.all(f"PRAGMA main.table_xinfo({quoted})")
    key = [row for row in rows if row[5]]
    return {} if len(key) == 1 and [key[0][1]] == list(columns) else None


def _collations(endpoint: SQLiteEndpoint, index: str) -> dict[str, str]:
    rows = endpoint.all(f"PRAGMA main.index_xinfo({_DIALECT.quote(index)})")
    return {row[2]: row[4] for row in rows if row[5]}


def _collated(part: str, collation: str | None) -> str:
    return part if collation is None else f"{part} COLLATE {_DIALECT.quote(collation)}"


def _quoted(table: Table) -> str:
    return _DIALECT.quote(table.name.name)


def _folded(columns: Sequence[str]) -> tuple[str, ...]:
    return tuple(column.casefold() for column in columns)
