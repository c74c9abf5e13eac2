"""Checks that the entries of an index are in the order by which the server searches for them.

A scan of an index alone returns its entries in their stored order. Session variables hold the previous entry, and the
server compares, by the rules of each column's own type and collation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.connection import connect, plan_of
from tieout.connectors.mysql.dialect import MySQLDialect
from tieout.connectors.mysql.errors import translated
from tieout.connectors.mysql.server_kind import ServerKind
from tieout.connectors.mysql.snapshot import zero_moments
from tieout.connectors.protocols.endpoint import Scan, ScanColumn
from tieout.connectors.protocols.paths import Disorder
from tieout.connectors.sql import select
from tieout.connectors.sql.connection_cache import lease
from tieout.connectors.sql.index_scan import MOST, ComparesNeighbours, ScanPath, neighbours
from tieout.connectors.sql.rows_to_arrow import batch_of
from tieout.errors import UnsupportedError
from tieout.model.types import TypeName

_BY_NUMBER = {
    TypeName.ENUM,
    TypeName.SET,
    TypeName.BITS,
    TypeName.YEAR,
    TypeName.DATE,
    TypeName.TIMESTAMP,
    TypeName.INSTANT,
    TypeName.TIME,
}
"""Types that an index orders by number. A variable would hold them as text, whose order differs, or which is slow."""


@dataclass(frozen=True)
class KeyOrderPath(ScanPath, ComparesNeighbours):
    """A path whose scan reads an index from start to end; `descending` is for each of its columns.

    Entries that are equal in these are in the order of the key in `behind`. Each partition has an index of its own.
    """

    url: EndpointUrl = field(kw_only=True)
    server_kind: ServerKind = field(kw_only=True)
    index: str = field(kw_only=True)
    descending: tuple[bool, ...] = field(kw_only=True)
    behind: tuple[ScanColumn, ...] = field(kw_only=True)
    partitions: tuple[str, ...] = field(kw_only=True)

    def order_parts(self, most: int) -> list[Scan]:
        through = self.scan.through or ""
        parts = [f"PARTITION ({self._dialect.quote(name)}) {through}" for name in self.partitions] or [through]
        return [replace(self.scan, through=part) for part in parts]

    def order_of(self, part: Scan) -> list[Disorder]:
        """A first statement only finds out whether there is disorder; a second one lists it with values."""
        with translated(self.url), lease(("order", self.url), lambda: connect(self.url)) as connection:
            if not self._found(connection, part, f"{self.order_statement(part, described=False)} LIMIT 1"):
                return []
            rows = self._found(connection, part, f"{self.order_statement(part, described=True)} LIMIT {MOST + 1:d}")
        columns = (*self._keys, *self._keys)
        batch = zero_moments(Scan(self.scan.table, columns), batch_of(rows, len(columns)))
        return neighbours(self._keys, batch.columns)

    def order_statement(self, part: Scan, *, described: bool) -> str:
        """SQL: entries that should precede the entry before them. If `described`, with the columns of both."""
        places = range(len(self._keys))
        wrong, kept = f"@seen > 0 AND ({self._is_before(0)})", {f"k{n}": self._compared(n) for n in places}
        listed = "1"
        if described:
            listed = ", ".join([*(f"@f{n}" for n in places), *self._wires])
            wrong += f" AND {_done({f'f{n}': f'@d{n}' for n in places})} >= 0"
            kept |= {f"d{n}": wire for n, wire in enumerate(self._wires)}
        condition = f"IF({wrong}, 1, 0) + 0 * {_done({**kept, 'seen': '@seen + 1'})}"
        return select.aggregate(self._dialect, part, condition, listed)

    @property
    def _keys(self) -> tuple[ScanColumn, ...]:
        names = {column.name for column in self.columns}
        return (*self.columns, *(column for column in self.behind if column.name not in names))

    @property
    def _dialect(self) -> MySQLDialect:
        return MySQLDialect(self.server_kind, safe=True)

    @property
    def _wires(self) -> list[str]:
        return [self._dialect.wire(column, self._dialect.quote(column.name)) for column in self._keys]

    def _is_before(self, place: int) -> str:
        """SQL: whether an entry belongs before the one in the variables. NULL comes first."""
        value, last = self._compared(place), f"@k{place}"
        backwards = place < len(self.descending) and self.descending[place]
        low, high, sign = (last, value, ">") if backwards else (value, last, "<")
        before = f"{value} {sign} {last} OR ({low} IS NULL AND {high} IS NOT NULL)"
        if place + 1 == len(self._keys):
            return before
        return f"{before} OR ({value} <=> {last} AND ({self._is_before(place + 1)}))"

    def _compared(self, place: int) -> str:
        column = self._keys[place].column
        name = self._dialect.quote(column.name)
        return f"({name} + 0)" if column.type.name in _BY_NUMBER else name

    def _found(self, connection: Any, part: Scan, statement: str) -> Sequence[Sequence[Any]]:
        # In a statement, a variable has the type of the value that it held before.
        places = range(len(self._keys))
        values = [self._compared(place) for place in places] + 2 * self._wires
        names = ", ".join(f"@{letter}{place}" for letter in "kdf" for place in places)
        with connection.cursor() as cursor:
            cursor.execute(f"{select.aggregate(self._dialect, part, '', ', '.join(values))} LIMIT 1 INTO {names}")
            cursor.execute("SET @seen := 0")
            self._require(cursor, statement)
            cursor.execute(statement)
            rows: Sequence[Sequence[Any]] = cursor.fetchall()
        return rows

    def _require(self, cursor: Any, statement: str) -> None:
        (plan,) = plan_of(cursor, statement)
        extra = str(plan["Extra"])
        in_order = plan["type"] == "index" and "Using index" in extra
        if plan["key"] != self.index or not in_order or "filesort" in extra or "temporary" in extra:
            words = f"type {plan['type']}, key {plan['key']}, {extra}"
            raise UnsupportedError(f"the server would not read it in its stored order: {words}")


def _done(assignments: Mapping[str, str]) -> str:
    """SQL: a number, never NULL, whose evaluation assigns these variables, one after the other.

    Each is compared with itself: the server skips what it knows beforehand, for example that a column is never NULL.
    """
    return "(" + " + ".join(f"((@{name} := {value}) <=> @{name})" for name, value in assignments.items()) + ")"
