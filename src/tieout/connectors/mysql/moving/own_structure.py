"""A MySQL table as it would be made on another server of its kind: from SHOW CREATE TABLE."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tieout.connectors.structure import PARENT, TABLE, ForeignKey, Part, Structure
from tieout.model.tables import TableName

_NAME = r"`(?:[^`]|``)+`"
_INDEX = re.compile(rf"(?P<kind>(UNIQUE |FULLTEXT |SPATIAL )?)KEY (?P<name>{_NAME})")
_FOREIGN = re.compile(
    rf"CONSTRAINT (?P<name>{_NAME}) FOREIGN KEY \({_NAME}(?:, {_NAME})*\) REFERENCES "
    rf"(?P<parent>(?:(?P<schema>{_NAME})\.)?(?P<table>{_NAME})) \("
)
# In front of any quote: a comment may say the same.
_NUMBERED = re.compile(rf"({_NAME} [^'`]*?) AUTO_INCREMENT\b")
_NEXT = re.compile(r"([^']*?) AUTO_INCREMENT=(\d+)")


@dataclass
class _Parts:
    columns: list[str] = field(default_factory=list)
    indexes: dict[str, str] = field(default_factory=dict)
    unique: dict[str, str] = field(default_factory=dict)
    references: list[ForeignKey] = field(default_factory=list)
    numbered: str | None = None
    has_primary: bool = False


def own_structure(shown: str, table: TableName, key_index: str | None) -> Structure:
    """From the server's own words, which have a line for each part. `key_index` stands in for a primary key."""
    body, tail = _split(shown)
    parts = _Parts()
    for line in body:
        _sort(line, table.schema, parts)
    kept = [] if parts.has_primary or key_index is None else [parts.unique.pop(key_index)]
    following = _NEXT.match(tail)
    if following:
        tail = tail.replace(following[0], following[1], 1)
    create = f"CREATE TABLE {TABLE} (\n  " + ",\n  ".join([*parts.columns, *kept]) + "\n" + tail
    unique = _added(parts.unique)
    if parts.numbered is not None:
        # A numbered column makes servers load chunks one after another, and may need an index that comes late.
        unique += (Part("", f"ALTER TABLE {TABLE} MODIFY {parts.numbered}"),)
    return Structure(
        create=(create,),
        indexes=_added(parts.indexes),
        unique=unique,
        references=tuple(parts.references),
        counters=(f"ALTER TABLE {TABLE} AUTO_INCREMENT = {following[2]}",) if parts.numbered and following else (),
    )


def _split(shown: str) -> tuple[list[str], str]:
    """The lines between the parentheses, and all from the closing one on: partitions follow it."""
    lines = shown.split("\n")[1:]
    end = next(number for number, line in enumerate(lines) if line.startswith(")"))
    return [line.strip().removesuffix(",") for line in lines[:end]], "\n".join(lines[end:])


def _sort(line: str, schema: str, parts: _Parts) -> None:
    index, foreign = _INDEX.match(line), _FOREIGN.match(line)
    if line.startswith("`"):
        if numbered := _NUMBERED.match(line):
            parts.numbered = line
            line = line.replace(numbered[0], numbered[1], 1)
        parts.columns.append(line)
    elif index is not None:
        kind = parts.unique if index["kind"] == "UNIQUE " else parts.indexes
        kind[_unquoted(index["name"])] = line
    elif foreign is not None:
        parent = TableName(_unquoted(foreign["schema"] or f"`{schema}`"), _unquoted(foreign["table"]))
        start, end = foreign.span("parent")
        statement = f"ALTER TABLE {TABLE} ADD {line[:start]}{PARENT}{line[end:]}"
        parts.references.append(ForeignKey(Part(_unquoted(foreign["name"]), statement), parent))
    else:
        parts.has_primary |= line.startswith("PRIMARY KEY")
        parts.columns.append(line)


def _added(lines: dict[str, str]) -> tuple[Part, ...]:
    """In one statement: the table is read once for all of them, and all of them are there or none."""
    if not lines:
        return ()
    return (Part(next(iter(lines)), f"ALTER TABLE {TABLE} " + ", ".join(f"ADD {line}" for line in lines.values())),)


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`")
