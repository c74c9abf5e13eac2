"""Checks indexes on prefixes of columns, which InnoDB does not read from an index alone.

Rows are looked up through them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql import quoting
from tieout.connectors.mysql.connection import AT_ONE_MOMENT, connect, plan_of
from tieout.connectors.mysql.dialect import MySQLDialect
from tieout.connectors.mysql.errors import translated
from tieout.connectors.mysql.server_kind import ServerKind
from tieout.connectors.protocols.check import IndexInfo
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.connectors.protocols.paths import Unfound, UnfoundRows, Values
from tieout.connectors.sql.index_scan import ScanPath
from tieout.connectors.sql.rows_to_arrow import batch_of, canonical_text
from tieout.errors import UnsupportedError
from tieout.model.canonical_kinds import Kind, common_kind
from tieout.model.tables import Column
from tieout.model.types import TypeName

_CROWD = 32
"""A lookup reads all entries of one prefix. Rows that share a prefix with more others are looked up together."""
_LONG = 500
"""The most bytes of a text that bounds a crowd; beyond that, the query asks for everything with the prefix."""


@dataclass(frozen=True)
class Crowd:
    """Rows that a lookup does not distinguish: their whole columns, and the prefix of the shortened one.

    `beginning`, `low` and `high` are bytes in hexadecimal; the prefix is None for NULL, the others if they are long.
    """

    full: tuple[Any, ...]
    beginning: str | None
    low: str | None
    high: str | None
    rows: int


@dataclass(frozen=True)
class PrefixLookups:
    dialect: MySQLDialect
    index: IndexInfo
    address: tuple[ScanColumn, ...]
    through: str
    """SQL that forces the access path to the rows."""

    @property
    def most_alone(self) -> int:
        """A lookup in a unique index ends at the first entry, although there may be more by mistake."""
        return 1 if self.index.unique else _CROWD

    def crowds(self) -> str:
        """SQL: the columns of Crowds."""
        short = [self._beginning_of_crowd()] if len(self._short) == 1 else ["NULL", "NULL", "NULL"]
        full = [self.dialect.wire(column, self._named("r", column.name)) for column in self._full]
        return self._grouped([*full, *short, "COUNT(*)"])

    def crowd(self, row: Sequence[Any]) -> Crowd:
        """A row that `crowds` has found."""
        if len(self._short) > 1:
            alike = f"more than {self.most_alone} rows have the same values in it"
            raise UnsupportedError(f"{alike}, and it holds only prefixes of several columns")
        *full, beginning, low, high, rows = row
        if self.index.unique and None not in (*full, beginning):
            raise UnsupportedError("there are rows that it should keep apart, and a lookup finds only one of them")
        return Crowd(tuple(full), _text(beginning), _text(low), _text(high), int(rows))

    def lonely(self, most: int, *, crowded: bool) -> str:
        """SQL: rows outside of crowds that the index does not lead to."""
        names = [*(column.name for column in self._full), *self._short]
        same = [f"{self._named('e', name)} <=> {self._named('r', name)}" for name in names]
        same += [f"{self._named('e', c.name)} = {self._named('r', c.name)}" for c in self.address]
        key = self.address[0].name
        # Not IS NULL, which is true for the day 0000-00-00, too.
        source, where = self._rows, [f"NOT ({self._named('e', key)} <=> {self._named('r', key)})"]
        if crowded:
            groups = [f"{part} AS g{place}" for place, part in enumerate(self._groups)]
            among = " AND ".join(f"{part} <=> g.g{place}" for place, part in enumerate(self._groups))
            source += f" LEFT JOIN ({self._grouped([*groups, 'COUNT(*) AS n'])}) AS g ON {among}"
            where.append("g.n IS NULL")
        source += f" LEFT JOIN {self._entries} ON {' AND '.join(same)}"
        return f"SELECT STRAIGHT_JOIN {self._listed} FROM {source} WHERE {' AND '.join(where)} LIMIT {most:d}"

    def counts(self, crowds: Sequence[Crowd]) -> str:
        """SQL: for each crowd, by its number, how many rows its entries lead to."""
        keys = ", ".join(self._named("e", column.name) for column in self.address)
        return " UNION ALL ".join(
            f"SELECT {number:d}, COUNT(DISTINCT {keys}) FROM {self._entries} WHERE {self._among_entries(crowd)}"
            for number, crowd in enumerate(crowds)
        )

    def missing(self, crowd: Crowd, most: int) -> str:
        """SQL: rows of a crowd that its entries do not lead to."""
        keys = [column.name for column in self.address]
        listed = ", ".join(self._named("e", key) for key in keys)
        there = f"SELECT DISTINCT {listed} FROM {self._entries} WHERE {self._among_entries(crowd)}"
        same = " AND ".join(f"{self._named('r', key)} = {self._named('x', key)}" for key in keys)
        missing = f"NOT ({self._named('x', keys[0])} <=> {self._named('r', keys[0])})"
        source = f"{self._rows} LEFT JOIN ({there}) AS x ON {same}"
        return f"SELECT {self._listed} FROM {source} WHERE {missing} AND {self._of(crowd, 'r')} LIMIT {most:d}"

    def unfound(self, row: Sequence[Any]) -> Unfound:
        """A row that `lonely` or `missing` has found."""
        columns = [*(each.column for each in self.address), *(each.column for each in self._shortened)]
        arrays = batch_of([row], len(row)).columns
        texts: Values = tuple(canonical_text(column, array) for column, array in zip(columns, arrays, strict=True))
        return Unfound(texts[: len(self.address)], texts[len(self.address) :])

    @property
    def _short(self) -> dict[str, int]:
        return dict(self.index.shortened)

    @property
    def _full(self) -> list[ScanColumn]:
        return [column.read for column in self.index.columns]

    @property
    def _shortened(self) -> list[ScanColumn]:
        columns = [self.index.table.column(name) for name in self._short]
        kinds = [common_kind(column.type, column.type) for column in columns]
        return [ScanColumn(column, kind) for column, kind in zip(columns, kinds, strict=True) if isinstance(kind, Kind)]

    @property
    def _table(self) -> str:
        return self.dialect.table(self.index.table.name)

    @property
    def _rows(self) -> str:
        return f"{self._table} AS r {self.through}"

    @property
    def _entries(self) -> str:
        return f"{self._table} AS e FORCE INDEX ({self.dialect.quote(self.index.name)})"

    @property
    def _groups(self) -> list[str]:
        """What rows that a lookup does not distinguish have in common."""
        full = [self._named("r", column.name) for column in self._full]
        return [*full, *(self._begins("r", name) for name in self._short)]

    @property
    def _listed(self) -> str:
        """A row that was not found: its address, and the prefixes that should lead to it."""
        wires = [self.dialect.wire(column, self._named("r", column.name)) for column in self.address]
        wires += [self.dialect.wire(column, self._begins("r", column.name)) for column in self._shortened]
        return ", ".join(f"{wire} AS c{place}" for place, wire in enumerate(wires))

    def _named(self, table: str, name: str) -> str:
        return f"{table}.{self.dialect.quote(name)}"

    def _begins(self, table: str, name: str) -> str:
        return f"LEFT({self._named(table, name)}, {self._short[name]:d})"

    def _grouped(self, listed: Sequence[str]) -> str:
        groups = ", ".join(self._groups)
        return f"SELECT {', '.join(listed)} FROM {self._rows} GROUP BY {groups} HAVING COUNT(*) > {self.most_alone:d}"

    def _beginning_of_crowd(self) -> str:
        ((name, length),) = self._short.items()
        least, most = (f"{end}({self._named('r', name)})" for end in ("MIN", "MAX"))
        short = f"GREATEST(OCTET_LENGTH({least}), OCTET_LENGTH({most})) <= {_LONG:d}"
        bounds = [f"IF({short}, HEX({end}), NULL)" for end in (least, most)]
        return ", ".join([f"HEX(LEFT({least}, {length:d}))", *bounds])

    def _of(self, crowd: Crowd, table: str) -> str:
        """SQL: whether a row belongs to a crowd."""
        parts = [
            f"{self._named(table, column.name)} <=> {self._literal(column, value)}"
            for column, value in zip(self._full, crowd.full, strict=True)
        ]
        (name,) = self._short
        return " AND ".join([*parts, f"{self._begins(table, name)} <=> {self._spelled(crowd.beginning)}"])

    def _among_entries(self, crowd: Crowd) -> str:
        """SQL: whether a row belongs to a crowd and is found at its position in the index, between its bounds."""
        (name,) = self._short
        own = self._named("e", name)
        if crowd.beginning is None:
            place = f"{own} IS NULL"
        elif crowd.low is not None and crowd.high is not None:
            place = f"{own} BETWEEN {self._spelled(crowd.low)} AND {self._spelled(crowd.high)}"
        else:
            escaped = self._spelled(crowd.beginning)
            for sign in "|%_":
                escaped = f"REPLACE({escaped}, {quoting.hex_text(sign)}, {quoting.hex_text(f'|{sign}')})"
            place = f"{own} LIKE CONCAT({escaped}, '%') ESCAPE '|'"
        return f"{place} AND {self._of(crowd, 'e')}"

    def _spelled(self, digits: str | None) -> str:
        (name,) = self._short
        charset = self.index.table.column(name).charset or "binary"
        return "NULL" if digits is None else quoting.coded_text(digits, charset)

    def _literal(self, column: ScanColumn, value: Any) -> str:
        text = canonical_text(column.column, batch_of([[value]], 1).column(0))
        if text is not None and not self.dialect.finds(column):
            raise UnsupportedError(
                f"more than {self.most_alone} rows have the same values in it, and no literal finds {column.name}"
            )
        return "NULL" if text is None else self.dialect.literal(column.column, text)


def _text(digits: str | bytes | None) -> str | None:
    return digits.decode() if isinstance(digits, bytes) else digits


_AT_ONCE = 50
"""Crowds in one statement."""
_WRONG_CROWDS = 20
"""For each of these crowds, the server reads the whole table."""
_LOWEST = ("''", "REPEAT(CHAR(0 USING utf8mb4), 1000)", "REPEAT(CHAR(9 USING utf8mb4), 1000)")
"""One of these sorts before all other text: by length, by code, or where control characters do not count."""
_FAILS_SINCE = (10, 11, 19)
"""The MariaDB that is known to fail at an entry that leads to no row. Older ones may skip it."""
UNSEEN = (
    "every row is found through it; but an entry that leads to no row would not be seen, because it holds only prefixes"
    " of its columns: the server's CHECK TABLE counts entries (--engine-checker=extended)"
)


@dataclass(frozen=True)
class PrefixPath(ScanPath):
    """`sees_dangling`: the server fails when it reads an entry without a row."""

    url: EndpointUrl = field(kw_only=True)
    lookups: PrefixLookups = field(kw_only=True)
    sees_dangling: bool = field(kw_only=True)

    def coverage_gap(self, entries: int) -> str | None:
        return None if self.sees_dangling else UNSEEN

    def unfound(self, most: int) -> UnfoundRows:
        with translated(self.url), closing(connect(self.url)) as connection, connection.cursor() as cursor:
            for statement in AT_ONE_MOMENT:
                cursor.execute(statement)
            crowds = [self.lookups.crowd(row) for row in _fetched(cursor, self.lookups.crowds())]
            found = self._found(cursor, self.lookups.lonely(most + 1, crowded=bool(crowds)))
            for number, crowd in enumerate(self._wrong(cursor, crowds)):
                if number == _WRONG_CROWDS or len(found) > most:
                    return UnfoundRows(tuple(found[:most]), truncated=True)
                missing = self._found(cursor, self.lookups.missing(crowd, most + 1))
                if not missing:
                    raise UnsupportedError("the server counts other rows than it finds by their prefix")
                found += missing
        return UnfoundRows(tuple(found[:most]), truncated=len(found) > most)

    def _wrong(self, cursor: Any, crowds: Sequence[Crowd]) -> Iterator[Crowd]:
        """The crowds of which the index leads to fewer rows than exist."""
        for start in range(0, len(crowds), _AT_ONCE):
            now = crowds[start : start + _AT_ONCE]
            statement = self.lookups.counts(now)
            self._require(cursor, statement)
            yield from (now[number] for number, count in _fetched(cursor, statement) if count != now[number].rows)

    def _found(self, cursor: Any, statement: str) -> list[Unfound]:
        self._require(cursor, statement)
        return [self.lookups.unfound(row) for row in _fetched(cursor, statement)]

    def _require(self, cursor: Any, statement: str) -> None:
        """Raises unless the server looks rows up through this index, by all its columns."""
        steps = plan_of(cursor, statement)
        looked_up = [step for step in steps if step["table"] == "e"]
        known_empty = [step for step in steps if step["table"] is None]
        if not looked_up and not known_empty:
            raise UnsupportedError("the server would not look rows up through it")
        index = self.lookups.index
        for step in looked_up:
            by = len(str(step["ref"]).split(","))
            whole = step["type"] == "range" or by == len(index.column_names)
            if step["key"] != index.name or step["type"] not in ("ref", "eq_ref", "range") or not whole:
                words = f"type {step['type']}, key {step['key']}, ref {step['ref']}, {step['Extra']}"
                raise UnsupportedError(f"the server would not look rows up through it: {words}")


def fails_at_dangling(server_kind: ServerKind, version: str) -> bool:
    """Whether a server fails when an entry leads to a row that does not exist."""
    numbers = re.findall(r"\d+", version.removeprefix("5.5.5-"))
    return server_kind is ServerKind.MARIADB and tuple(map(int, numbers[:3])) >= _FAILS_SINCE


def everything(dialect: MySQLDialect, column: Column) -> str:
    """SQL that is true for every value, and makes the server read an index on the column."""
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
