"""Checks that the entries of an index are in the order by which SQLite looks them up.

A scan of a tree returns its entries in their stored order; SQLite itself compares each with the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.paths import Disorder
from tieout.connectors.sql import select
from tieout.connectors.sql.index_scan import MOST, ComparesNeighbours, ScanPath, neighbours
from tieout.connectors.sqlite.connection import connect
from tieout.connectors.sqlite.dialect import SQLiteDialect
from tieout.connectors.sqlite.errors import translated
from tieout.connectors.sqlite.snapshot import array_of

_DIALECT = SQLiteDialect()


@dataclass(frozen=True, slots=True)
class KeyColumn:
    collation: str
    descending: bool


@dataclass(frozen=True)
class TreePath(ScanPath, ComparesNeighbours):
    """A path whose scan goes through a tree from its begin to its end; `keys` are how its columns are ordered."""

    url: EndpointUrl = field(kw_only=True)
    keys: tuple[KeyColumn, ...] = field(kw_only=True)

    def order_of(self, part: None) -> list[Disorder]:
        with translated(self.url), closing(connect(self.url)) as connection:
            rows = connection.execute(self.order_statement()).fetchall()
        columns = (*self.columns, *self.columns)
        arrays = [array_of(column, [row[place] for row in rows]) for place, column in enumerate(columns)]
        return neighbours(self.columns, arrays)

    def order_statement(self) -> str:
        """SQL: neighbours of which the second should be first, the columns of one and then of the other."""
        names = [_DIALECT.quote(column.name) for column in self.columns]
        listed = [f"{name} AS b{place}, LAG({name}) OVER () AS a{place}" for place, name in enumerate(names)]
        source = select.aggregate(_DIALECT, self.scan, "", f"{', '.join(listed)}, ROW_NUMBER() OVER () AS place")
        both = ", ".join(f"{side}{place}" for side in "ab" for place in range(len(names)))
        return f"SELECT {both} FROM ({source}) WHERE place > 1 AND ({_is_after(self.keys)}) LIMIT {MOST + 1}"


def _is_after(keys: Sequence[KeyColumn]) -> str:
    """SQL: whether key a belongs behind key b. NULL is before all else; a plus takes a column's affinity away."""
    cases = []
    for place, key in enumerate(keys):
        low, high = ("a", "b") if key.descending else ("b", "a")
        low, high = f"+{low}{place}", f"+{high}{place}"
        same = [f"+a{n} IS +b{n} COLLATE {_DIALECT.quote(keys[n].collation)}" for n in range(place)]
        after = f"({low} IS NULL AND {high} IS NOT NULL OR {high} > {low} COLLATE {_DIALECT.quote(key.collation)})"
        cases.append(" AND ".join([*same, after]))
    return " OR ".join(f"({case})" for case in cases)
