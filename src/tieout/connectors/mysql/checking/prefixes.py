"""Indexes that hold only the beginning of some columns, which InnoDB hands out from no index.

An index-only scan has all else of an entry, its row's key among it: there must be one entry for each row. Then every
row is looked up through the index by what it should be found by. One that is not found has its entry elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.base import ScanColumn
from tieout.connectors.checking import IndexInfo, Unfound, Values
from tieout.connectors.driver_rows import batch_of
from tieout.connectors.mysql.dialect import MySQLDialect
from tieout.connectors.mysql.faults import translated
from tieout.connectors.mysql.flavour import Flavour
from tieout.connectors.mysql.session import connect
from tieout.connectors.scan_path import ScanPath
from tieout.connectors.wire import canonical_text
from tieout.errors import UnsupportedError
from tieout.model.kinds import Kind, common_kind
from tieout.model.tables import Column
from tieout.model.types import TypeName

_CROWD = 32
"""A lookup reads all entries of one beginning. Rows that share it with more others are looked for together."""
_AT_ONCE = 100
"""Of the parts of a UNION."""
_LOWEST = ("''", "REPEAT(CHAR(0 USING utf8mb4), 1000)", "REPEAT(CHAR(9 USING utf8mb4), 1000)")
"""One of these is the least of all text: by length, by code, or where control characters do not count."""
_LOOKED_UP = {"eq_ref", "ref", "ref_or_null", "range"}
_FAILS_SINCE = (10, 11)
"""The MariaDB that is known to fail at an entry that leads to no row. Others may pass over it."""
UNSEEN = (
    "every row is found through it; but an entry that leads to no row would not be seen, as it holds only the beginning"
    " of its columns: the server's CHECK TABLE counts entries (--engine-checker=extended)"
)


@dataclass(frozen=True)
class PrefixPath(ScanPath):
    """`rows` is SQL that forces the way to the rows. `sees_dangling`: who reads it fails at an entry without a row."""

    url: EndpointUrl = field(kw_only=True)
    flavour: Flavour = field(kw_only=True)
    index: IndexInfo = field(kw_only=True)
    rows: str = field(kw_only=True)
    sees_dangling: bool = field(kw_only=True)

    def unseen(self, entries: int) -> str | None:
        return None if self.sees_dangling else UNSEEN

    def unfound(self) -> list[Unfound]:
        with translated(self.url), closing(connect(self.url)) as connection, connection.cursor() as cursor:
            cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
            crowds = list(_fetched(cursor, self._crowds(told=True)))
            statement = self._lonely(crowded=bool(crowds))
            self._require(cursor, statement)
            found = [self._unfound(row) for row in _fetched(cursor, statement)]
            for start in range(0, len(crowds), _AT_ONCE):
                found += self._of_crowds(cursor, crowds[start : start + _AT_ONCE])
        return found

    @property
    def _dialect(self) -> MySQLDialect:
        return MySQLDialect(self.flavour, safe=True)

    @property
    def _table(self) -> str:
        return self._dialect.table(self.scan.table.name)

    @property
    def _entries(self) -> str:
        return f"{self._table} AS e FORCE INDEX ({self._dialect.quote(self.index.name)})"

    @property
    def _full(self) -> list[ScanColumn]:
        return [column.read for column in self.index.columns]

    @property
    def _short(self) -> dict[str, int]:
        return dict(self.index.shortened)

    def _named(self, table: str, name: str) -> str:
        return f"{table}.{self._dialect.quote(name)}"

    def _begins(self, table: str, name: str) -> str:
        return f"LEFT({self._named(table, name)}, {self._short[name]:d})"

    def _grouped(self, table: str) -> list[str]:
        """What rows have in common that a lookup does not tell apart."""
        full = [self._named(table, column.name) for column in self._full]
        return [*full, *(self._begins(table, name) for name in self._short)]

    def _listed(self) -> str:
        """A row that is not found: its address, and the beginnings that it should be found by."""
        address = [self._dialect.wire(column, self._named("r", column.name)) for column in self.address]
        columns = [ScanColumn(column, kind) for column, kind in self._kinds()]
        short = [self._dialect.wire(column, self._begins("r", column.name)) for column in columns]
        return ", ".join(f"{wire} AS c{place}" for place, wire in enumerate([*address, *short]))

    def _kinds(self) -> Iterator[tuple[Column, Kind]]:
        for name in self._short:
            column = self.scan.table.column(name)
            kind = common_kind(column.type, column.type)
            assert isinstance(kind, Kind)
            yield column, kind

    def _unfound(self, row: Sequence[Any]) -> Unfound:
        batch = batch_of([row], len(row))
        columns = [*(column.column for column in self.address), *(column for column, _ in self._kinds())]
        texts: Values = tuple(canonical_text(c, array) for c, array in zip(columns, batch.columns, strict=True))
        return Unfound(texts[: self.wide], texts[self.wide :])

    def _crowds(self, *, told: bool) -> str:
        """SQL: what more rows have in common than should be looked up one by one; and, if `told`, their bounds."""
        listed = [f"{part} AS g{place}" for place, part in enumerate(self._grouped("r"))]
        if told:
            listed = [
                *(self._dialect.wire(column, self._named("r", column.name)) for column in self._full),
                *(f"HEX({end}({self._named('r', name)}))" for name in self._short for end in ("MIN", "MAX")),
            ]
        by = ", ".join(self._grouped("r"))
        source = f"{self._table} AS r {self.rows}"
        return f"SELECT {', '.join([*listed, 'COUNT(*) AS n'])} FROM {source} GROUP BY {by} HAVING COUNT(*) > {_CROWD}"

    def _lonely(self, *, crowded: bool) -> str:
        """SQL: rows of no crowd that the index does not lead to."""
        names = [*(column.name for column in self._full), *self._short]
        same = [f"{self._named('e', name)} <=> {self._named('r', name)}" for name in names]
        same += [f"{self._named('e', c.name)} = {self._named('r', c.name)}" for c in self.address]
        source, where = f"{self._table} AS r {self.rows}", [f"{self._named('e', self.address[0].name)} IS NULL"]
        if crowded:
            among = " AND ".join(f"{part} <=> g.g{place}" for place, part in enumerate(self._grouped("r")))
            source += f" LEFT JOIN ({self._crowds(told=False)}) AS g ON {among}"
            where.append("g.n IS NULL")
        source += f" LEFT JOIN {self._entries} ON {' AND '.join(same)}"
        return f"SELECT STRAIGHT_JOIN {self._listed()} FROM {source} WHERE {' AND '.join(where)}"

    def _of_crowds(self, cursor: Any, crowds: Sequence[Sequence[Any]]) -> Iterator[Unfound]:
        """Rows that are not among those that the entries of their crowd lead to."""
        keys = ", ".join(self._named("e", column.name) for column in self.address)
        counts = [
            f"SELECT {place:d}, COUNT(DISTINCT {keys}) FROM {self._entries} WHERE {self._in_crowd('e', crowd)}"
            for place, crowd in enumerate(crowds)
        ]
        statement = " UNION ALL ".join(counts)
        self._require(cursor, statement)
        for place, count in _fetched(cursor, statement):
            if count != crowds[place][-1]:
                yield from self._lost_in_crowd(cursor, crowds[place])

    def _lost_in_crowd(self, cursor: Any, crowd: Sequence[Any]) -> Iterator[Unfound]:
        keys = [column.name for column in self.address]
        listed = ", ".join(self._named("e", key) for key in keys)
        there = f"SELECT DISTINCT {listed} FROM {self._entries} WHERE {self._in_crowd('e', crowd)}"
        same = " AND ".join(f"{self._named('r', key)} = {self._named('x', key)}" for key in keys)
        source = f"{self._table} AS r {self.rows} LEFT JOIN ({there}) AS x ON {same}"
        where = f"{self._named('x', keys[0])} IS NULL AND {self._in_crowd('r', crowd)}"
        statement = f"SELECT {self._listed()} FROM {source} WHERE {where}"
        self._require(cursor, statement)
        yield from (self._unfound(row) for row in _fetched(cursor, statement))

    def _in_crowd(self, table: str, crowd: Sequence[Any]) -> str:
        """SQL: rows of a crowd. They lie between its least and its greatest, which are one place of the index."""
        if len(self._short) > 1:
            raise UnsupportedError(
                f"more than {_CROWD} rows have the same in it, and of several columns it holds only the beginning"
            )
        parts = [
            f"{self._named(table, column.name)} <=> {self._literal(column, value)}"
            for column, value in zip(self._full, crowd, strict=False)
        ]
        (name,), own = self._short, self._named(table, *self._short)
        low, high = (_text_literal(self.scan.table.column(name), value) for value in crowd[len(self._full) : -1])
        if low is None:
            return " AND ".join([*parts, f"{own} IS NULL"])
        alike = f"{self._begins(table, name)} = LEFT({low}, {self._short[name]:d})"
        return " AND ".join([*parts, f"{own} BETWEEN {low} AND {high}", alike])

    def _literal(self, column: ScanColumn, value: Any) -> str:
        text = canonical_text(column.column, batch_of([[value]], 1).column(0))
        if text is not None and not self._dialect.finds(column):
            raise UnsupportedError(f"more than {_CROWD} rows have the same in it, and no literal finds {column.name}")
        return "NULL" if text is None else self._dialect.literal(column.column, text)

    def _require(self, cursor: Any, statement: str) -> None:
        """That rows are looked for through this index. What is known to be empty without a look is no matter."""
        for step in _plan(cursor, statement):
            if step["table"] == "e" and (step["key"] != self.index.name or step["type"] not in _LOOKED_UP):
                words = f"type {step['type']}, key {step['key']}, {step['Extra']}"
                raise UnsupportedError(f"the server would not look rows up through it: {words}")


def fails_at_dangling(flavour: Flavour, version: str) -> bool:
    """Whether a server fails when it goes from an entry to a row that does not exist."""
    numbers = re.findall(r"\d+", version.removeprefix("5.5.5-"))
    return flavour is Flavour.MARIADB and tuple(map(int, numbers[:2])) >= _FAILS_SINCE


def everything(dialect: MySQLDialect, column: Column) -> str:
    """SQL that every value fulfils, and that has the server go through an index on it."""
    name = dialect.quote(column.name)
    if column.nullable:
        return f"({name} IS NULL OR {name} IS NOT NULL)"
    if column.type.name is TypeName.BINARY:
        return f"{name} >= ''"
    return "(" + " OR ".join(f"{name} >= {lowest}" for lowest in _LOWEST) + ")"


def _text_literal(column: Column, digits: str | bytes | None) -> str | None:
    if digits is None:
        return None
    text = digits.decode() if isinstance(digits, bytes) else digits
    return f"_{column.charset or 'binary'} X'{text}'"


def _plan(cursor: Any, statement: str) -> list[Mapping[str, Any]]:
    cursor.execute(f"EXPLAIN {statement}")
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _fetched(cursor: Any, statement: str) -> Sequence[Sequence[Any]]:
    cursor.execute(statement)
    rows: Sequence[Sequence[Any]] = cursor.fetchall()
    return rows
