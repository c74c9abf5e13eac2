"""A MySQL table as it would be made on another server of its kind: from SHOW CREATE TABLE."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tieout.connectors.structure import TABLE, Structure

_INDEX = re.compile(r"(?P<kind>(UNIQUE |FULLTEXT |SPATIAL )?)KEY `(?P<name>(?:[^`]|``)+)`")
_NUMBERED = " AUTO_INCREMENT"
_NEXT = re.compile(r" AUTO_INCREMENT=(\d+)")


@dataclass
class _Parts:
    columns: list[str] = field(default_factory=list)
    indexes: list[str] = field(default_factory=list)
    unique: dict[str, str] = field(default_factory=dict)
    references: list[str] = field(default_factory=list)
    numbered: str | None = None
    has_primary: bool = False


def own_structure(shown: str, key_index: str | None) -> Structure:
    """From the server's own words, which have a line for each part. `key_index` stands in for a primary key.

    References are to tables of the same database, whatever that is called on the target.
    """
    body = shown.split("\n")[1:]
    last = body.pop()
    parts = _Parts()
    for line in body:
        _sort(line.strip().removesuffix(","), parts)
    kept = [] if parts.has_primary or key_index is None else [parts.unique.pop(key_index)]
    create = f"CREATE TABLE {TABLE} (\n  " + ",\n  ".join([*parts.columns, *kept]) + "\n" + _NEXT.sub("", last)
    counters = []
    if parts.numbered is not None:
        counters.append(f"ALTER TABLE {TABLE} MODIFY {parts.numbered}")
        if following := _NEXT.search(last):
            counters.append(f"ALTER TABLE {TABLE} AUTO_INCREMENT = {following[1]}")
    return Structure(
        create=(create,),
        indexes=_added(parts.indexes),
        unique=_added(list(parts.unique.values())),
        references=_added(parts.references),
        counters=tuple(counters),
    )


def _sort(line: str, parts: _Parts) -> None:
    index = _INDEX.match(line)
    if line.startswith("`"):
        if _NUMBERED in line:
            parts.numbered = line
            line = line.replace(_NUMBERED, "")
        parts.columns.append(line)
    elif index is not None and index["kind"] == "UNIQUE ":
        parts.unique[index["name"].replace("``", "`")] = line
    elif index is not None:
        parts.indexes.append(line)
    elif line.startswith("CONSTRAINT ") and " FOREIGN KEY " in line:
        parts.references.append(line)
    else:
        parts.has_primary |= line.startswith("PRIMARY KEY")
        parts.columns.append(line)


def _added(lines: list[str]) -> tuple[str, ...]:
    """In one statement: the table is read once for all of them."""
    return (f"ALTER TABLE {TABLE} " + ", ".join(f"ADD {line}" for line in lines),) if lines else ()
