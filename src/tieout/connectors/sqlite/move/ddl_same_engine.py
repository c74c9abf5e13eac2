"""The statements that create an SQLite table in another file, from those that SQLite stores."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field

from tieout.connectors.sql.ddl import TABLE, Part, Structure
from tieout.connectors.sql.selection import Selection
from tieout.connectors.sqlite.dialect import SQLiteDialect
from tieout.connectors.sqlite.tokens import Token, joined, name_of, split_at_commas, stripped, tokens
from tieout.model.tables import Table

NAME = "\0name\0"
"""A placeholder in a statement for the target table's name as a text."""

_CONSTRAINTS = ("CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN")
_quote = SQLiteDialect().quote


@dataclass
class _Parts:
    lines: list[str] = field(default_factory=list)
    unique: list[str] = field(default_factory=list)
    columns: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


def own_structure(connection: sqlite3.Connection, table: Table, selection: Selection | None = None) -> Structure:
    """Foreign keys stay in CREATE TABLE: SQLite can add none later, and checks them only on request."""
    name = table.name.name
    (made,) = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", [name]).fetchone()
    # A table that is copied in several chunks may hold a value twice until all are of one position.
    in_chunks = any(table.column(column).order is not None for column in table.key)
    found = tokens(made)
    parts, tail = _table(found, table, selection, take_unique=in_chunks)
    indexes, unique = _indexes(connection, table, selection, parts.left_out)
    key = [part for part in unique if not _is_primary(table) and _index_columns(connection, part.name) == table.key]
    create = f"CREATE TABLE {TABLE} (\n  " + ",\n  ".join(parts.lines) + f"\n){tail}"
    return Structure(
        create=(create, *(part.statement for part in key)),
        indexes=tuple(indexes),
        unique=(*(_unique(name, columns) for columns in parts.unique), *(part for part in unique if part not in key)),
        counters=_counters(connection, name) if any(token.says("AUTOINCREMENT") for token in found) else (),
        columns=parts.columns,
        left_out=tuple(parts.left_out),
    )


def _table(found: list[Token], table: Table, selection: Selection | None, *, take_unique: bool) -> tuple[_Parts, str]:
    """The content of the parentheses, a line for each part, and the text after them."""
    start = next(place for place, token in enumerate(found) if token.text == "(")
    end = max(place for place, token in enumerate(found) if token.text == ")" and token.depth == 0)
    parts = _Parts()
    for part in split_at_commas(found[start + 1 : end], 1):
        is_column = not part[0].says(*_CONSTRAINTS)
        if selection is not None and is_column and name_of(part[0]) not in selection.unchanged:
            continue
        if not is_column and selection is not None and (reason := selection.reason_without(_named(part, table))):
            parts.left_out.append(f"{joined(part)}, {reason}")
        elif not part[0].says(*_CONSTRAINTS):
            parts.lines.append(_column(part, parts, take_unique=take_unique))
            parts.columns[name_of(part[0])] = parts.lines[-1]
        elif take_unique and (columns := _only_unique(part)) is not None:
            parts.unique.append(columns)
        else:
            parts.lines.append(joined(part))
    return parts, joined(found[end + 1 :])


def _named(part: list[Token], table: Table) -> list[str]:
    """The table's own columns in a constraint or an index; perhaps one more, whose name is that of a function."""
    known = {name.casefold(): name for name in table.column_names}
    start = 2 if part[0].says("CONSTRAINT") else 0
    end = next((place for place, token in enumerate(part) if token.says("REFERENCES")), len(part))
    named = [token for token in part[start + 1 : end] if token.is_word or token.text[0] in '"`[']
    return [known[name_of(token).casefold()] for token in named if name_of(token).casefold() in known]


def _column(part: list[Token], parts: _Parts, *, take_unique: bool) -> str:
    name, rest = name_of(part[0]), part[1:]
    place = next((n for n, token in enumerate(rest) if token.says("UNIQUE") and token.depth == 1), None)
    if take_unique and place is not None and not _conflict(rest[place + 1 :]):
        before = rest[:place]
        words = [n for n, token in enumerate(before) if token.text != " "]
        if len(words) > 1 and before[words[-2]].says("CONSTRAINT"):
            before = before[: words[-2]]
        rest = [*before, *rest[place + 1 :]]
        parts.unique.append(_quote(name))
    return f"{_quote(name)} {joined(stripped(rest))}".rstrip()


def _only_unique(part: list[Token]) -> str | None:
    """The columns of a constraint that is UNIQUE (…) and nothing else."""
    words = [token for token in part if token.text != " "]
    if words[0].says("CONSTRAINT"):
        words = words[2:]
    if not words[0].says("UNIQUE") or words[-1].text != ")" or sum(t.text == "(" and t.depth == 1 for t in words) != 1:
        return None
    start = next(place for place, token in enumerate(part) if token.text == "(")
    return joined(part[start + 1 : -1])


def _conflict(rest: list[Token]) -> bool:
    """True for ON CONFLICT …, which no index can express."""
    words = [token for token in rest if token.text != " "]
    return bool(words) and words[0].says("ON")


def _unique(table: str, columns: str) -> Part:
    name = f"unique {table} {columns}"
    return Part(name, f"CREATE UNIQUE INDEX {_quote(name)} ON {TABLE} ({columns})")


def _is_primary(table: Table) -> bool:
    return any(index.primary for index in table.indexes)


def _indexes(
    connection: sqlite3.Connection, table: Table, selection: Selection | None, left_out: list[str]
) -> tuple[list[Part], list[Part]]:
    """The plain indexes and the unique ones; those of a constraint come with the constraint."""
    plain: list[Part] = []
    unique: list[Part] = []
    query = (
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL ORDER BY rowid"
    )
    for name, statement in connection.execute(query, [table.name.name]).fetchall():
        found = tokens(statement)
        start = next(place for place, token in enumerate(found) if token.text == "(")
        is_unique = any(token.says("UNIQUE") for token in found[:3])
        sort = "UNIQUE INDEX" if is_unique else "INDEX"
        if selection is not None and (reason := selection.reason_without(_named(found[start:], table))):
            left_out.append(f"{sort.lower()} {name}, {reason}")
            continue
        made = Part(name, f"CREATE {sort} {_quote(name)} ON {TABLE} {joined(found[start:])}")
        (unique if is_unique else plain).append(made)
    return plain, unique


def _index_columns(connection: sqlite3.Connection, name: str) -> tuple[str, ...]:
    return tuple(row[2] for row in connection.execute(f"PRAGMA main.index_info({_quote(name)})"))


def _counters(connection: sqlite3.Connection, table: str) -> tuple[str, ...]:
    found = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", [table]).fetchone()
    return () if found is None else counters(found[0])


def counters(number: int) -> tuple[str, ...]:
    """Makes an AUTOINCREMENT column continue after this number, or later."""
    return (
        f"INSERT INTO sqlite_sequence (name, seq) SELECT {NAME}, 0 "
        f"WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = {NAME})",
        f"UPDATE sqlite_sequence SET seq = MAX(seq, {number:d}) WHERE name = {NAME}",
    )
