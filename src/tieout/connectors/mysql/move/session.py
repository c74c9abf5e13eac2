"""A connection that writes to a MySQL server."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql import quoting
from tieout.connectors.mysql.dialect import MySQLDialect
from tieout.connectors.mysql.errors import for_mover, translated
from tieout.connectors.mysql.server_kind import Flavour
from tieout.connectors.mysql.session import PATIENT, connect
from tieout.model.tables import TableName

# An id of 0 is kept, not replaced by the next number; what the source holds of invalid dates is taken as it is.
MODE = "STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES,NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES"

# The order in which tables are written is not that of their foreign keys, and cascades were the source's. What is
# cut to size is told in notes.
_SETTINGS = (
    f"SET SESSION sql_mode = {quoting.text(MODE)}, innodb_lock_wait_timeout = 20, foreign_key_checks = 0, "
    # Progress is worth nothing in an engine without transactions.
    # A merge takes as long as it takes.
    "sql_notes = 1, default_storage_engine = InnoDB /*M!100101 , max_statement_time = 0 */"
)


class MySQLSession:
    def __init__(self, url: EndpointUrl) -> None:
        from pymysql.constants import CLIENT

        self.url = url
        self._dialect = MySQLDialect(Flavour.MARIADB)
        with self.answered():
            self.connection = connect(url, client_flag=CLIENT.LOCAL_FILES | CLIENT.FOUND_ROWS, settings=PATIENT)
            self.execute(_SETTINGS)

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> int:
        with self.answered(), self.connection.cursor() as cursor:
            return _run(cursor, statement, parameters)

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self.answered(), self.connection.cursor() as cursor:
            _run(cursor, statement, parameters)
            return list(cursor.fetchall())

    def quote(self, name: str) -> str:
        return self._dialect.quote(name)

    def table(self, name: TableName) -> str:
        return self._dialect.table(name)

    def text(self, value: str) -> str:
        return quoting.text(value)

    def begin(self) -> None:
        self.execute("START TRANSACTION")

    def commit(self) -> None:
        self.execute("COMMIT")

    def rollback(self) -> None:
        with suppress(Exception):
            self.connection.rollback()

    def close(self) -> None:
        with suppress(Exception):
            self.connection.close()

    def answered(self) -> AbstractContextManager[None]:
        """Driver errors inside become EndpointErrors: one line, no password."""
        return translated(self.url, for_mover, lost="the connection was lost")


def _run(cursor: Any, statement: str, parameters: Sequence[Any]) -> int:
    return int(cursor.execute(statement, list(parameters)) if parameters else cursor.execute(statement))
