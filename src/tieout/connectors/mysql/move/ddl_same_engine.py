"""DDL for a copy of a MySQL table on another MySQL server: from SHOW CREATE TABLE."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tieout.connectors.mysql import quoting
from tieout.connectors.mysql.show_create import NAME, parts_of, unquoted
from tieout.connectors.sql.ddl import PARENT, TABLE, ForeignKey, Part, Structure
from tieout.connectors.sql.selection import Selection
from tieout.model.tables import TableName

_INDEX = re.compile(rf"(?P<kind>(UNIQUE |FULLTEXT |SPATIAL )?)KEY (?P<name>{NAME})")
_FOREIGN = re.compile(
    rf"CONSTRAINT (?P<name>{NAME}) FOREIGN KEY \({NAME}(?:, {NAME})*\) REFERENCES "
    rf"(?P<parent>(?:(?P<schema>{NAME})\.)?(?P<table>{NAME})) \("
)
_CONSTRAINT = re.compile(rf"CONSTRAINT (?P<name>{NAME}) ")
_NAMES = re.compile(NAME)
# Before any quote: a comment may contain the same words.
_NUMBERED = re.compile(rf"({NAME} [^'`]*?) AUTO_INCREMENT\b")
_COLUMN = re.compile(NAME)
_NEXT = re.compile(r"([^']*?) AUTO_INCREMENT=(\d+)")


@dataclass
class _Parts:
    lines: list[str] = field(default_factory=list)
    columns: dict[str, str] = field(default_factory=dict)
    indexes: dict[str, str] = field(default_factory=dict)
    unique: dict[str, str] = field(default_factory=dict)
    references: list[ForeignKey] = field(default_factory=list)
    numbered: str | None = None
    has_primary: bool = False
    left_out: list[str] = field(default_factory=list)


def own_structure(shown: str, table: TableName, key_index: str | None, selection: Selection | None = None) -> Structure:
    """The statements, from the output of SHOW CREATE TABLE. `key_index` stands in for a primary key."""
    body, tail = parts_of(shown)
    parts = _Parts()
    for line in body if selection is None else _selected(body, selection, parts.left_out):
        _sort(line, table.schema, parts)
    kept = [] if parts.has_primary or key_index is None else [parts.unique.pop(key_index)]
    following = _NEXT.match(tail)
    if following:
        tail = following[1] + tail.removeprefix(following[0])
    create = f"CREATE TABLE {TABLE} (\n  " + ",\n  ".join([*parts.lines, *kept]) + "\n" + tail
    unique = _added(parts.unique)
    if parts.numbered is not None:
        # With AUTO_INCREMENT, servers load chunks one after another; and it may need an index that is added late.
        unique += (Part("", f"ALTER TABLE {TABLE} MODIFY {parts.numbered}"),)
    return Structure(
        create=(create,),
        indexes=_added(parts.indexes),
        unique=unique,
        references=tuple(parts.references),
        counters=(f"ALTER TABLE {TABLE} AUTO_INCREMENT = {following[2]}",) if parts.numbered and following else (),
        columns=parts.columns,
        left_out=tuple(parts.left_out),
    )


def _selected(body: list[str], selection: Selection, left_out: list[str]) -> list[str]:
    """The lines of the table to create: its columns, its key, and what names only columns that it has."""
    columns = {unquoted(own[0]): line.removeprefix(own[0]) for line in body if (own := _COLUMN.match(line))}
    lines = [
        selection.lines.get(name, quoting.name(name)) if origin is None else quoting.name(name) + columns[origin]
        for name, origin in selection.columns
    ]
    own_key = selection.own_key
    if own_key and selection.key:
        lines.append(f"PRIMARY KEY ({quoting.names(selection.key)})")
    for line in body:
        if _COLUMN.match(line) or (own_key and line.startswith("PRIMARY KEY")):
            continue
        index, foreign = _INDEX.match(line), _FOREIGN.match(line)
        names = {unquoted(name) for name in _NAMES.findall(line.partition(" REFERENCES ")[0])}
        if index is not None:
            unique = index["kind"] == "UNIQUE "
            words = f"{'unique ' if unique else ''}index {unquoted(index['name'])}"
        else:
            unique = False
            words = f"{'foreign key' if foreign else 'check'} {_called(line)}"
        # Its own name may be that of a column.
        used = {name for name in names if name in columns}
        if index is not None or _CONSTRAINT.match(line):
            rest = _NAMES.findall(line.partition(" REFERENCES ")[0])[1:]
            used = {unquoted(name) for name in rest if unquoted(name) in columns}
        reason = selection.reason_without(used, between_tables=unique or foreign is not None)
        if reason is None:
            lines.append(line)
        else:
            left_out.append(f"{words}, {reason}")
    return lines


def _called(line: str) -> str:
    found = _CONSTRAINT.match(line)
    return unquoted(found["name"]) if found else line


def _sort(line: str, schema: str, parts: _Parts) -> None:
    index, foreign = _INDEX.match(line), _FOREIGN.match(line)
    if own := _COLUMN.match(line):
        if numbered := _NUMBERED.match(line):
            parts.numbered = line
            line = numbered[1] + line.removeprefix(numbered[0])
        parts.lines.append(line)
        parts.columns[unquoted(own[0])] = line
    elif index is not None:
        kind = parts.unique if index["kind"] == "UNIQUE " else parts.indexes
        kind[unquoted(index["name"])] = line
    elif foreign is not None:
        parent = TableName(unquoted(foreign["schema"]) if foreign["schema"] else schema, unquoted(foreign["table"]))
        start, end = foreign.span("parent")
        statement = f"ALTER TABLE {TABLE} ADD {line[:start]}{PARENT}{line[end:]}"
        parts.references.append(ForeignKey(Part(unquoted(foreign["name"]), statement), parent))
    else:
        parts.has_primary |= line.startswith("PRIMARY KEY")
        parts.lines.append(line)


def _added(lines: dict[str, str]) -> tuple[Part, ...]:
    """One statement for all indexes: the server reads the table once, and adds all of them or none."""
    if not lines:
        return ()
    return (Part(next(iter(lines)), f"ALTER TABLE {TABLE} " + ", ".join(f"ADD {line}" for line in lines.values())),)
