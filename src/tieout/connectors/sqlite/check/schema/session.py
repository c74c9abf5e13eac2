"""A session that asks about definitions. It is the application that brings functions, collations and modules."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.check import Trouble
from tieout.connectors.sqlite.dialect import SQLiteDialect
from tieout.connectors.sqlite.faults import translated
from tieout.connectors.sqlite.session import connect
from tieout.model.server_words import told

_OF_APPLICATION = ("no such function", "unknown function", "no such collation sequence", "no such module")
_NOT_TELLING = ("database is locked", "interrupted", "disk I/O error", "database disk image is malformed")

quote = SQLiteDialect().quote


@contextmanager
def schema_session(url: EndpointUrl) -> Iterator[SchemaSession]:
    with translated(url), closing(connect(url)) as connection:
        # What SQLite does not understand is passed over, and the rest can be read; the file is open for reading only.
        connection.execute("PRAGMA writable_schema = ON")
        yield SchemaSession(connection)


@dataclass(frozen=True)
class SchemaSession:
    connection: sqlite3.Connection

    def rows(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        return self.connection.execute(statement, parameters).fetchall()

    def trouble(self, statement: str, *parameters: Any) -> Trouble | None:
        """What SQLite has against it."""
        try:
            self.rows(statement, *parameters)
        except sqlite3.Error as error:
            return trouble_of(str(error))
        return None


def trouble_of(text: str) -> Trouble:
    said = told(text)
    if text.startswith(_OF_APPLICATION):
        return Trouble(f"{said}, which may be the application's own", telling=False)
    return Trouble(said, not text.startswith(_NOT_TELLING))
