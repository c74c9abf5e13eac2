"""A connection that writes to an SQLite file."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.sql.placeholders import with_question_marks
from tieout.connectors.sqlite import quoting
from tieout.connectors.sqlite.dialect import SQLiteDialect
from tieout.connectors.sqlite.faults import translated
from tieout.connectors.sqlite.session import connect
from tieout.errors import AccessError, ReadError, WriteError
from tieout.model.tables import TableName

WAIT_SECONDS = 300
"""A file has one writer at a time, and a chunk may be large: the others wait for their turn."""

_LOCK = " FOR UPDATE"


class SQLiteSession:
    """Knows a function more than SQLite: tieout_sign, which tells -0.0 from 0.0."""

    def __init__(self, url: EndpointUrl, wait_seconds: float = WAIT_SECONDS) -> None:
        self.url = url
        self._dialect = SQLiteDialect()
        with self.answered():
            self.connection = connect(url, writable=True, wait_seconds=wait_seconds)
            # The order in which tables are written is not that of their foreign keys, and cascades were the source's.
            self.connection.execute("PRAGMA foreign_keys = OFF")
            self.connection.create_function("tieout_sign", 1, lambda number: math.copysign(1, number))

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> int:
        with self.answered():
            return self._run(statement, parameters).rowcount

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self.answered():
            return self._run(statement, parameters).fetchall()

    def many(self, statement: str, rows: Iterable[Sequence[Any]]) -> int:
        with self.answered():
            return self.connection.executemany(statement, rows).rowcount

    def quote(self, name: str) -> str:
        return self._dialect.quote(name)

    def table(self, name: TableName) -> str:
        """Without a schema: there is but one, and CREATE INDEX takes none before its table."""
        return self._dialect.quote(name.name)

    def text(self, value: str) -> str:
        return quoting.text(value)

    def begin(self) -> None:
        # At once a writer's: one that read first could not become one behind another's back.
        self.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        self.execute("COMMIT")

    def rollback(self) -> None:
        with suppress(Exception):
            self.connection.rollback()

    def close(self) -> None:
        with suppress(Exception):
            self.connection.close()

    def _run(self, statement: str, parameters: Sequence[Any]) -> sqlite3.Cursor:
        # Rows need no lock of their own: whoever is in a transaction is the file's only writer.
        statement = statement.removesuffix(_LOCK)
        return self.connection.execute(with_question_marks(statement) if parameters else statement, list(parameters))

    @contextmanager
    def answered(self) -> Iterator[None]:
        """Driver errors inside become EndpointErrors: one line."""
        try:
            with translated(self.url):
                yield
        except ReadError as error:
            text = error.message
            if "readonly" in text:
                raise AccessError(text, "let this user write to the file and to its directory") from None
            raise WriteError(text, error.hint) from None


@contextmanager
def transaction(url: EndpointUrl, wait_seconds: float = WAIT_SECONDS) -> Iterator[SQLiteSession]:
    """A session whose changes are all made when the block ends, or none."""
    with closing(SQLiteSession(url, wait_seconds)) as session:
        session.begin()
        yield session
        session.commit()
