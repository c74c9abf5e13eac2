"""The changes that triggers captured, as a change log."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.change_log import LogCoverage, LogLag
from tieout.connectors.sqlite import quoting
from tieout.connectors.sqlite.capture import captured_tables
from tieout.connectors.sqlite.capture.log_tables import (
    ANNOUNCED,
    CHANGES,
    READERS,
    SEEN,
    SHAPES,
    Query,
    end,
    identity,
    position,
    proven,
    tail,
)
from tieout.connectors.sqlite.connection import connect
from tieout.connectors.sqlite.errors import translated
from tieout.connectors.sqlite.session import WAIT_SECONDS
from tieout.errors import LogLostError, UnreachableError
from tieout.model.positions import Position
from tieout.model.row_changes import Begin, ChangeKind, Commit, LogItem, LogTable, Reached, Rows
from tieout.model.tables import TableName

_CONFIRM_SECONDS = 2.0
_VALUES = (
    f"SELECT name FROM pragma_table_info({quoting.text(CHANGES)}) WHERE name GLOB 'old[0-9]*' OR name GLOB 'new[0-9]*'"
)


@dataclass(frozen=True)
class SQLiteLog:
    """A ChangeLog.

    Triggers don't know where a transaction ends. But a file has one writer at a time, so every read of it happens
    between two transactions. `now` and `ends` return no other positions, and what lies between two of them is read as
    one transaction, which starts again at each change: a chunk that was copied in between holds exactly what lies
    before it.
    """

    url: EndpointUrl
    task: str

    def now(self) -> Position:
        with self._looking() as connection:
            return end(_rows_of(connection))

    def resume(self, after: Position, held: Sequence[Position] = ()) -> Position:
        """This task confirmed its positions in this log and no other, so the log must contain anything beyond them."""
        with self._looking() as connection:
            upgraded = bool(identity(_rows_of(connection)))
        if not upgraded:
            captured_tables.upgrade(self.url)
        with self._looking() as connection:
            confirmed = self._confirmed(connection)
            if not after.log:
                if after.offset != confirmed:
                    raise self._lost(after, "an older version stored it, without the identity of the log")
                return proven(_rows_of(connection), after.offset)
            self._require(connection, after, after)
            if after.offset > confirmed and not after.tail:
                raise self._lost(after, "the log has no proof of it")
            for place in held:
                self._require(connection, position(confirmed), place)
            return after

    def ends(self, after: Position, most_bytes: int, most: int) -> list[Position]:
        """The end of the log, and before it the positions at which the columns of a table changed."""
        with self._looking() as connection:
            now = end(_rows_of(connection))
            self._require(connection, after, after)
            if after.place >= now.place:
                return []
            cuts = connection.execute(
                f"SELECT since - 1 FROM {SHAPES} WHERE since - 1 > ? ORDER BY 1 LIMIT ?", [after.offset, most]
            )
            return [*(proven(_rows_of(connection), cut) for (cut,) in cuts.fetchall()), now][:most]

    def read(self, after: Position, upto: Position, tables: frozenset[TableName]) -> Iterator[LogItem]:
        with self._reading() as connection:
            self._require(connection, after, upto)
            shapes = _shapes(connection, tables)
            found, at = False, 0
            for number, shape, kind, changed_at, *values in _changes(connection, shapes, after, upto) if shapes else ():
                found, at = True, max(at, changed_at or 0)
                yield Begin(position(number - 1).of_log(upto.log), str(number))
                yield _rows(shapes[shape], kind, values)
            if found:
                yield Commit(upto, str(upto), at)
            yield Reached(upto)

    def lag(self, applied: Position) -> LogLag:
        with self._reading() as connection:
            return LogLag(*_sizes(connection, applied.offset))

    def kept(self) -> int | None:
        """The size in bytes of the stored changes; None if nothing is captured for the task."""
        with self._reading() as connection:
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", [READERS]).fetchall():
                return None
            if not connection.execute(f"SELECT 1 FROM {READERS} WHERE task = ?", [self.task]).fetchall():
                return None
            return _sizes(connection, 0)[1]

    def coverage(self, tables: Sequence[TableName]) -> LogCoverage:
        """Nothing: `now` and `ends` notice what became of the tables."""
        return LogCoverage()

    def confirm(self, position: Position) -> None:
        with self._reading() as connection:
            confirmed = self._confirmed(connection)
        if position.offset > confirmed:
            # Other writers go first: what can't be deleted this time is deleted the next time.
            with suppress(UnreachableError):
                captured_tables.confirm(self.url, self.task, position, _CONFIRM_SECONDS)

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees one snapshot."""
        with translated(self.url), closing(connect(self.url, wait_seconds=WAIT_SECONDS)) as connection:
            connection.execute("BEGIN")
            yield connection

    @contextmanager
    def _looking(self) -> Iterator[sqlite3.Connection]:
        """The same, after triggers were updated to fit their tables."""
        with self._reading() as connection:
            self._confirmed(connection)
            seen = connection.execute(f"SELECT schema_version FROM {SEEN}").fetchall()
            if seen != connection.execute("PRAGMA schema_version").fetchall():
                connection.execute("ROLLBACK")
                captured_tables.adapt(self.url)
                connection.execute("BEGIN")
            yield connection

    def _confirmed(self, connection: sqlite3.Connection) -> int:
        there = connection.execute(
            "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", [READERS]
        ).fetchone()
        query = f"SELECT confirmed FROM {READERS} WHERE task = ?"
        row = connection.execute(query, [self.task]).fetchone() if there else None
        if row is None:
            raise LogLostError(
                f"{self.url.redacted()}: changes are no longer captured for the task {self.task}",
                captured_tables.START_OVER,
            )
        return int(row[0])

    def _require(self, connection: sqlite3.Connection, after: Position, upto: Position) -> None:
        """Raises LogLostError unless both positions are of this log, and all changes between them are stored."""
        if self._confirmed(connection) > after.offset:
            where = f"{self.url.redacted()}: changes after {after} were deleted, because the task had confirmed them"
            raise LogLostError(where, captured_tables.START_OVER)
        rows = _rows_of(connection)
        for place in (after, upto):
            if place.log and place.log != identity(rows):
                raise self._lost(place, "this is another file")
            if end(rows).offset < place.offset:
                raise self._lost(place, f"it ends at {end(rows)}")
            found = tail(rows, place.offset)
            # Changes before a confirmed position may be deleted, including the last one.
            if place.tail and found != place.tail and (found or place.offset > self._confirmed(connection)):
                raise self._lost(place, "another change precedes it")

    def _lost(self, place: Position, why: str) -> LogLostError:
        where = f"{self.url.redacted()}: the log does not continue after {place}: {why}"
        return LogLostError(where, "this is another file, or a restored copy: drop the task and start over")


def _rows_of(connection: sqlite3.Connection) -> Query:
    return lambda statement: connection.execute(statement).fetchall()


def _sizes(connection: sqlite3.Connection, after: int) -> tuple[int, int]:
    """The size in bytes of the changes after a number, and of all changes."""
    columns = [name for (name,) in connection.execute(_VALUES)]
    size = " + ".join(["0", *(f"IFNULL(LENGTH(CAST({name} AS BLOB)), 0)" for name in columns)])
    sizes = f"SELECT SUM(CASE WHEN seq > ? THEN {size} + 1 ELSE 0 END), SUM({size} + 1) FROM {CHANGES}"
    behind, kept = connection.execute(sizes, [after]).fetchone()
    return behind or 0, kept or 0


def _shapes(connection: sqlite3.Connection, tables: frozenset[TableName]) -> dict[int, LogTable]:
    names = {table.name: table for table in tables}
    found = connection.execute(f"SELECT shape, source_table, columns FROM {SHAPES}")
    return {shape: LogTable(names[name], tuple(json.loads(columns))) for shape, name, columns in found if name in names}


def _changes(
    connection: sqlite3.Connection, shapes: dict[int, LogTable], after: Position, upto: Position
) -> Iterator[tuple[Any, ...]]:
    """Rows of number, shape, kind, time, all old values and all new values."""
    widest = range(max(len(table.columns) for table in shapes.values()))
    values = [*(f"old{place}" for place in widest), *(f"new{place}" for place in widest)]
    return connection.execute(
        f"SELECT {', '.join(['seq', 'shape', 'kind', 'at', *values])} FROM {CHANGES} "
        f"WHERE seq > ? AND seq <= ? AND shape IN ({', '.join(map(str, shapes))}) ORDER BY seq",
        [after.offset, upto.offset],
    )


def _rows(table: LogTable, kind: int, values: list[Any]) -> Rows:
    if kind == ANNOUNCED:
        return Rows(table, ChangeKind.INSERT, [])
    width, wide = len(table.columns), len(values) // 2
    old, new = (tuple(map(real, values[start : start + width])) for start in (0, wide))
    if kind == ChangeKind.UPDATE:
        return Rows(table, ChangeKind.UPDATE, [new], [old])
    return Rows(table, ChangeKind(kind), [old if kind == ChangeKind.DELETE else new])


class Real(float):
    """A REAL of SQLite: it differs from the INTEGER of the same value, and 0.0 differs from -0.0.

    Images of rows are compared by it.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Real) and self.hex() == other.hex()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(("real", self.hex()))


def real(value: Any) -> Any:
    """A value of an image: unchanged, unless it is a float."""
    return Real(value) if type(value) is float else value
