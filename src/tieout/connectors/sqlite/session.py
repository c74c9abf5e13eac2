"""The session that writes to SQLite files or inspects definitions."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.check import StatementError
from tieout.connectors.protocols.repair import Refused
from tieout.connectors.sql.error_meanings import ErrorMeaning
from tieout.connectors.sql.placeholders import with_question_marks
from tieout.connectors.sql.session import Purpose, ServerError, SqlSession
from tieout.connectors.sqlite import quoting
from tieout.connectors.sqlite.connection import connect
from tieout.connectors.sqlite.dialect import SQLiteDialect
from tieout.connectors.sqlite.errors import MAY_WRITE, OF_APPLICATION, explain
from tieout.errors import MissingObjectError
from tieout.model.tables import TableName

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

    def error(self, meaning: ErrorMeaning, said: str) -> Exception:
        if self.purpose is Purpose.REPAIR and self.connection is not None and meaning.error is MissingObjectError:
            # A trigger or a foreign key of this table may name a table that was dropped: other rows can be repaired.
            return Refused(said)
        return super().error(meaning, said)

    def objection(self, meaning: ErrorMeaning, said: str) -> StatementError:
        return objection(meaning, said)


def objection(meaning: ErrorMeaning, said: str) -> StatementError:
    """The objection of SQLite to a statement about a definition."""
    if meaning is OF_APPLICATION:
        return StatementError(f"{said}, which may be the application's own", conclusive=False)
    return StatementError(said, conclusive=not meaning.inconclusive)


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
