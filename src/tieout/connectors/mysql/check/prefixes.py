"""Indexes that hold only the beginning of some columns, which InnoDB hands out from no index.

An index-only scan has all else of an entry, its row's key among it: there must be one entry for each row. Then every
row is looked up through the index by what it should be found by. One that is not found has its entry elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.check.prefix_lookups import Crowd, PrefixLookups
from tieout.connectors.mysql.dialect import MySQLDialect
from tieout.connectors.mysql.explain import plan_of
from tieout.connectors.mysql.faults import translated
from tieout.connectors.mysql.server_kind import Flavour
from tieout.connectors.mysql.session import AT_ONE_MOMENT, connect
from tieout.connectors.protocols.paths import Unfound, UnfoundRows
from tieout.connectors.sql.index_scan import ScanPath
from tieout.errors import UnsupportedError
from tieout.model.tables import Column
from tieout.model.types import TypeName

_AT_ONCE = 50
"""Crowds that are asked for in one statement."""
_WRONG_CROWDS = 20
"""For what is lost of each, all of the table is read."""
_LOWEST = ("''", "REPEAT(CHAR(0 USING utf8mb4), 1000)", "REPEAT(CHAR(9 USING utf8mb4), 1000)")
"""One of these is the least of all text: by length, by code, or where control characters do not count."""
_FAILS_SINCE = (10, 11, 19)
"""The MariaDB that is known to fail at an entry that leads to no row. Older ones may pass over it."""
UNSEEN = (
    "every row is found through it; but an entry that leads to no row would not be seen, as it holds only the beginning"
    " of its columns: the server's CHECK TABLE counts entries (--engine-checker=extended)"
)


@dataclass(frozen=True)
class PrefixPath(ScanPath):
    """`sees_dangling`: who reads it fails at an entry without a row."""

    url: EndpointUrl = field(kw_only=True)
    lookups: PrefixLookups = field(kw_only=True)
    sees_dangling: bool = field(kw_only=True)

    def unseen(self, entries: int) -> str | None:
        return None if self.sees_dangling else UNSEEN

    def unfound(self, most: int) -> UnfoundRows:
        with translated(self.url), closing(connect(self.url)) as connection, connection.cursor() as cursor:
            for statement in AT_ONE_MOMENT:
                cursor.execute(statement)
            crowds = [self.lookups.crowd(row) for row in _fetched(cursor, self.lookups.crowds())]
            found = self._found(cursor, self.lookups.lonely(most + 1, crowded=bool(crowds)))
            for number, crowd in enumerate(self._wrong(cursor, crowds)):
                if number == _WRONG_CROWDS or len(found) > most:
                    return UnfoundRows(tuple(found[:most]), cut=True)
                lost = self._found(cursor, self.lookups.lost(crowd, most + 1))
                if not lost:
                    raise UnsupportedError("the server counts other rows than it finds by what they begin with")
                found += lost
        return UnfoundRows(tuple(found[:most]), cut=len(found) > most)

    def _wrong(self, cursor: Any, crowds: Sequence[Crowd]) -> Iterator[Crowd]:
        """Those of which the index leads to fewer rows than there are."""
        for start in range(0, len(crowds), _AT_ONCE):
            now = crowds[start : start + _AT_ONCE]
            statement = self.lookups.counts(now)
            self._require(cursor, statement)
            yield from (now[number] for number, count in _fetched(cursor, statement) if count != now[number].rows)

    def _found(self, cursor: Any, statement: str) -> list[Unfound]:
        self._require(cursor, statement)
        return [self.lookups.unfound(row) for row in _fetched(cursor, statement)]

    def _require(self, cursor: Any, statement: str) -> None:
        """That rows are looked for through this index, by all that it has of them."""
        steps = plan_of(cursor, statement)
        looked_up = [step for step in steps if step["table"] == "e"]
        known_empty = [step for step in steps if step["table"] is None]
        if not looked_up and not known_empty:
            raise UnsupportedError("the server would look no row up through it")
        index = self.lookups.index
        for step in looked_up:
            by = len(str(step["ref"]).split(","))
            whole = step["type"] == "range" or by == len(index.column_names)
            if step["key"] != index.name or step["type"] not in ("ref", "eq_ref", "range") or not whole:
                words = f"type {step['type']}, key {step['key']}, ref {step['ref']}, {step['Extra']}"
                raise UnsupportedError(f"the server would not look rows up through it: {words}")


def fails_at_dangling(flavour: Flavour, version: str) -> bool:
    """Whether a server fails when it goes from an entry to a row that does not exist."""
    numbers = re.findall(r"\d+", version.removeprefix("5.5.5-"))
    return flavour is Flavour.MARIADB and tuple(map(int, numbers[:3])) >= _FAILS_SINCE


def everything(dialect: MySQLDialect, column: Column) -> str:
    """SQL that every value fulfils, and that has the server go through an index on it."""
    name = dialect.quote(column.name)
    if column.nullable:
        return f"({name} IS NULL OR {name} IS NOT NULL)"
    if column.type.name is TypeName.BINARY:
        return f"{name} >= ''"
    return "(" + " OR ".join(f"{name} >= {lowest}" for lowest in _LOWEST) + ")"


def _fetched(cursor: Any, statement: str) -> Sequence[Sequence[Any]]:
    cursor.execute(statement)
    rows: Sequence[Sequence[Any]] = cursor.fetchall()
    return rows
