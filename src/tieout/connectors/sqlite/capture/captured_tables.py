"""Starts and ends the capture of tables, and updates triggers when tables change."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tieout.config.urls import EndpointUrl
from tieout.connectors.sqlite.capture import log_tables
from tieout.connectors.sqlite.capture.log_tables import ANNOUNCED, CHANGES, READERS, SEEN, SHAPES, WANTED
from tieout.connectors.sqlite.capture.triggers import Captured, captured, names, triggers
from tieout.connectors.sqlite.endpoint import SQLiteEndpoint
from tieout.connectors.sqlite.session import SQLiteSession, transaction
from tieout.errors import LogLostError
from tieout.model.positions import Position
from tieout.model.row_changes import ChangeKind
from tieout.model.tables import Column, Table, TableName

START_OVER = "drop the task and start over"


def begin(url: EndpointUrl, task: str, wanted: Sequence[TableName]) -> Position:
    """Captures these tables from the returned position on."""
    with transaction(url) as session:
        log_tables.create(session)
        _forget(session, task)
        capture = _Capture(url, session)
        capture.adapt()
        _want(session, capture, task, wanted)
        begin = log_tables.end(session.rows)
        session.execute(f"INSERT INTO {READERS} VALUES (?, ?)", [task, begin.offset])
        return begin


def add(url: EndpointUrl, task: str, wanted: Sequence[TableName]) -> None:
    """Captures these tables, too, for a task whose capture has begun."""
    with transaction(url) as session:
        capture = _Capture(url, session)
        for name in wanted:  # a table that was dropped took its triggers with it
            if set(capture.kept_triggers(name.name)) != set(names(name.name)):
                session.execute(f"DELETE FROM {WANTED} WHERE source_table = ?", [name.name])
        capture.adapt()
        _want(session, capture, task, wanted)


def _want(session: SQLiteSession, capture: _Capture, task: str, wanted: Sequence[TableName]) -> None:
    for name in wanted:
        tasks = [task for (task,) in session.rows(f"SELECT task FROM {WANTED} WHERE source_table = ?", [name.name])]
        if not tasks:
            _drop_triggers(session, name.name)
            capture.add(name.name)
        if task not in tasks:
            session.execute(f"INSERT INTO {WANTED} VALUES (?, ?)", [task, name.name])
    _note_schema(session)


def upgrade(url: EndpointUrl) -> None:
    """Creates the tables that older versions did not have."""
    with transaction(url) as session:
        log_tables.create(session)
        _note_schema(session)


def adapt(url: EndpointUrl) -> None:
    """Updates the capture of tables after the file's schema has changed."""
    with transaction(url) as session:
        _Capture(url, session).adapt()
        _note_schema(session)


def confirm(url: EndpointUrl, task: str, position: Position, wait_seconds: float) -> None:
    """Deletes the changes that all tasks have applied."""
    with transaction(url, wait_seconds) as session:
        session.execute(f"UPDATE {READERS} SET confirmed = ? WHERE task = ?", [position.offset, task])
        wanted = f"MIN((SELECT MIN(confirmed) + 1 FROM {READERS}), (SELECT MAX(seq) FROM {CHANGES}))"
        session.execute(f"DELETE FROM {CHANGES} WHERE seq < {wanted}")


def end(url: EndpointUrl, task: str) -> None:
    """Removes everything that no other task needs."""
    with transaction(url) as session:
        if not session.rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", [READERS]):
            return
        # What somebody else changed since is still to be noticed.
        is_seen = session.rows(f"SELECT schema_version FROM {SEEN}") == session.rows("PRAGMA schema_version")
        _forget(session, task)
        if session.rows(f"SELECT 1 FROM {READERS}"):
            if is_seen:
                _note_schema(session)
            return
        for table in log_tables.TABLES:
            session.execute(f"DROP TABLE IF EXISTS {table}")


def _forget(session: SQLiteSession, task: str) -> None:
    left = f"SELECT source_table FROM {WANTED} WHERE task <> ?"
    lonely = session.rows(
        f"SELECT source_table FROM {WANTED} WHERE task = ? AND source_table NOT IN ({left})", [task, task]
    )
    for (name,) in lonely:
        _drop_triggers(session, name)
    session.execute(f"DELETE FROM {WANTED} WHERE task = ?", [task])
    session.execute(f"DELETE FROM {READERS} WHERE task = ?", [task])


def _drop_triggers(session: SQLiteSession, table: str) -> None:
    for name in names(table):
        session.execute(f"DROP TRIGGER IF EXISTS {session.quote(name)}")


def _note_schema(session: SQLiteSession) -> None:
    ((version,),) = session.rows("PRAGMA schema_version")
    session.execute(f"DELETE FROM {SEEN}")
    session.execute(f"INSERT INTO {SEEN} VALUES (?)", [version])


class _Capture:
    """The captured tables of a file, in a transaction that writes to it."""

    def __init__(self, url: EndpointUrl, session: SQLiteSession) -> None:
        self._url = url
        self._session = session
        self._endpoint = SQLiteEndpoint(url, session.connection)
        self._there = {name.name for name in self._endpoint.tables()}

    def add(self, name: str) -> None:
        table = captured(self._describe(name), self._session.rows)
        self._make(table, self._new_shape(name, table.columns))

    def adapt(self) -> None:
        """Raises LogLostError if triggers are gone: changes may have happened without them."""
        for (name,) in self._session.rows(f"SELECT DISTINCT source_table FROM {WANTED}"):
            shape, columns = self._shape(name)
            if not columns:
                continue  # it was gone already
            if name not in self._there:
                _drop_triggers(self._session, name)  # a renamed table takes its triggers along
                self._announce(self._new_shape(name, ()))
                continue
            self._adapt(self._describe(name), shape, columns)

    def _adapt(self, described: Table, shape: int, before: tuple[str, ...]) -> None:
        table = captured(described, self._session.rows)
        kept = self.kept_triggers(table.name)
        if kept.keys() != set(names(table.name)):
            raise LogLostError(
                f"{self._url.redacted()}: {described.name} has lost its capture triggers; was the table dropped?",
                START_OVER,
            )
        if table.columns != before:
            shape = self._new_shape(table.name, table.columns)
            self._announce(shape)
            if table.columns[: len(before)] == before:
                self._log_added(table, shape, described.columns, before)
        if kept != triggers(table, shape):  # a unique index was added or dropped, or a column renamed
            _drop_triggers(self._session, table.name)
            self._make(table, shape)

    def _describe(self, name: str) -> Table:
        return self._endpoint.describe([TableName("main", name)])[0]

    def kept_triggers(self, table: str) -> dict[str, str]:
        found = self._session.rows(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?", [table]
        )
        return {name: statement for name, statement in found if name in names(table)}

    def _shape(self, name: str) -> tuple[int, tuple[str, ...]]:
        ((shape, columns),) = self._session.rows(
            f"SELECT MAX(shape), columns FROM {SHAPES} WHERE source_table = ?", [name]
        )
        return shape, tuple(json.loads(columns))

    def _new_shape(self, name: str, columns: Sequence[str]) -> int:
        log_tables.make_room(self._session, len(columns))
        self._session.execute(
            f"INSERT INTO {SHAPES} (source_table, columns) VALUES (?, ?)", [name, json.dumps(columns)]
        )
        return self._shape(name)[0]

    def _announce(self, shape: int) -> None:
        """A change of its own: readers learn about it even if no row changes afterwards."""
        self._session.execute(f"INSERT INTO {CHANGES} (shape, kind) VALUES (?, ?)", [shape, ANNOUNCED])
        ((number,),) = self._session.rows(log_tables.END)
        self._session.execute(f"UPDATE {SHAPES} SET since = ? WHERE shape = ?", [number, shape])

    def _make(self, table: Captured, shape: int) -> None:
        for statement in triggers(table, shape).values():
            self._session.execute(statement)

    def _log_added(self, table: Captured, shape: int, columns: Sequence[Column], before: Sequence[str]) -> None:
        """Logs the values that new columns got before their triggers existed: all that differ from the default."""
        quote = self._session.quote
        defaults = {column.name: f"({column.default or 'NULL'})" for column in columns}
        added = table.columns[len(before) :]
        old = ", ".join([*map(quote, before), *(defaults[name] for name in added)])
        new = ", ".join(map(quote, table.columns))
        places = range(len(table.columns))
        into = ", ".join([*(f"old{place}" for place in places), *(f"new{place}" for place in places)])
        changed = " OR ".join(f"{quote(name)} IS NOT {defaults[name]}" for name in added)
        self._session.execute(
            f"INSERT INTO {CHANGES} (shape, kind, {into}) SELECT {shape}, {ChangeKind.UPDATE:d}, {old}, {new} "
            f"FROM {quote(table.name)} WHERE {changed}"
        )
