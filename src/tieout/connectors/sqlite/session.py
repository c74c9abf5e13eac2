"""Connections to SQLite files, and the session that writes to them or inspects definitions."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.check import Trouble
from tieout.connectors.sql.error_meanings import ErrorMeaning
from tieout.connectors.sql.placeholders import with_question_marks
from tieout.connectors.sql.session import Purpose, ServerError, SqlSession
from tieout.connectors.sqlite import quoting
from tieout.connectors.sqlite.dialect import SQLiteDialect
from tieout.connectors.sqlite.errors import MAY_WRITE, OF_APPLICATION, explain
from tieout.model.tables import TableName

IS_TEXT = "tieout_is_text"
"""A function of every connection: true if bytes are text in an encoding that Python knows."""

WAIT_SECONDS = 300
"""How long a mover waits for a lock: a file has one writer at a time, and a chunk may be large."""

_LOCK = " FOR UPDATE"


class SQLiteSession(SqlSession):
    """Has one function more than SQLite: tieout_sign, which tells -0.0 from 0.0.

    `settings` are pragmas. Sessions for reading can't write to the file.
    """

    grant = MAY_WRITE

    def __init__(
        self, url: EndpointUrl, purpose: Purpose, settings: Sequence[str], *, wait_seconds: float = 10
    ) -> None:
        def open_file() -> sqlite3.Connection:
            connection = connect(url, writable=purpose is not Purpose.READ, wait_seconds=wait_seconds)
            connection.create_function("tieout_sign", 1, lambda number: math.copysign(1, number))
            for setting in settings:
                connection.execute(f"PRAGMA {setting}")
            return connection

        super().__init__(url, SQLiteDialect(), purpose, open_file)

    def driver_errors(self) -> tuple[type[Exception], ...]:
        return (sqlite3.Error,)

    def explain(self, error: Exception) -> ServerError:
        return explain(error)

    def run(self, statement: str, parameters: Sequence[Any]) -> sqlite3.Cursor:
        # Rows need no lock of their own: whoever is in a transaction is the file's only writer.
        statement = statement.removesuffix(_LOCK)
        cursor: sqlite3.Cursor = self.connection.execute(
            with_question_marks(statement) if parameters else statement, list(parameters)
        )
        return cursor

    def many(self, statement: str, rows: Iterable[Sequence[Any]]) -> int:
        """Runs a statement, whose placeholders are ?, for each row."""
        with self.translated():
            return int(self.connection.executemany(statement, rows).rowcount)

    def table(self, name: TableName) -> str:
        """Without a schema: there is only one, and CREATE INDEX takes none before its table."""
        return self.dialect.quote(name.name)

    def text(self, value: str) -> str:
        return quoting.text(value)

    def begin(self) -> None:
        # As a writer from the start: a transaction that has read can't begin to write after another one wrote.
        self.execute("BEGIN IMMEDIATE")

    def objection(self, meaning: ErrorMeaning, said: str) -> Trouble:
        return objection(meaning, said)


def objection(meaning: ErrorMeaning, said: str) -> Trouble:
    """The objection of SQLite to a statement about a definition."""
    if meaning is OF_APPLICATION:
        return Trouble(f"{said}, which may be the application's own", telling=False)
    return Trouble(said, telling=not meaning.inconclusive)


def mover_session(url: EndpointUrl, wait_seconds: float = WAIT_SECONDS) -> SQLiteSession:
    # Tables are not written in the order of their foreign keys, and the source has carried out its cascades.
    return SQLiteSession(url, Purpose.MOVE, ["foreign_keys = OFF"], wait_seconds=wait_seconds)


def schema_session(url: EndpointUrl) -> SQLiteSession:
    """For inspecting definitions: SQLite skips a definition that it does not understand, and reads the others."""
    return SQLiteSession(url, Purpose.READ, ["writable_schema = ON"])


@contextmanager
def transaction(url: EndpointUrl, wait_seconds: float = WAIT_SECONDS) -> Iterator[SQLiteSession]:
    """A mover's session that makes all its changes when the block ends, or none."""
    with closing(mover_session(url, wait_seconds)) as session:
        session.begin()
        yield session
        session.commit()


def connect(url: EndpointUrl, *, writable: bool = False, wait_seconds: float = 10) -> sqlite3.Connection:
    """A connection in autocommit mode that waits this long for locks. It keeps the bytes of text that is not UTF-8,
    escaped.
    """
    path = Path(url.path or "").absolute()
    if not writable and Path(f"{path}-journal").exists():
        _recover(path, wait_seconds)
    connection = _open(path, "rw" if writable else "ro", wait_seconds)
    # A file may come from anybody: functions that its views and triggers call have no effect beyond the file.
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.text_factory = _text
    connection.create_function(IS_TEXT, 2, _is_text, deterministic=True)
    return connection


def _open(path: Path, mode: str, wait_seconds: float) -> sqlite3.Connection:
    uri = f"file:{quote(str(path))}?mode={mode}"
    # One thread opens an endpoint and another uses it, but never two at a time.
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=wait_seconds, check_same_thread=False)


def _recover(path: Path, wait_seconds: float) -> None:
    """Rolls back what a killed writer left unfinished, which a connection for reading can't do."""
    with suppress(sqlite3.Error), closing(_open(path, "rw", wait_seconds)) as connection:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()


def _is_text(raw: bytes, encoding: str) -> bool:
    try:
        raw.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
