"""Runs statements on a MySQL server, for whatever purpose, and translates errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql import quoting
from tieout.connectors.mysql.connection import PATIENT, connect, plan_of
from tieout.connectors.mysql.dialect import MySQLDialect
from tieout.connectors.mysql.errors import VALUE_TOO_LONG, explained
from tieout.connectors.mysql.server_kind import ServerKind
from tieout.connectors.protocols.repair import Refused
from tieout.connectors.sql.error_meanings import ErrorMeaning
from tieout.connectors.sql.session import Purpose, ServerError, SqlSession

WRITING_MODE = "STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES,NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES"
"""An id of 0 stays 0 instead of becoming the next number; the source's invalid dates are stored as they are."""

_MOVING = (
    # Tables are not written in the order of their foreign keys, and cascades have happened on the source. The server
    # reports in notes what it cut to size.
    f"SET SESSION sql_mode = {quoting.text(WRITING_MODE)}, innodb_lock_wait_timeout = 20, foreign_key_checks = 0, "
    # Progress is worth nothing in an engine without transactions. A merge takes as long as it takes.
    "sql_notes = 1, default_storage_engine = InnoDB /*M!100101 , max_statement_time = 0 */"
)
_REPAIRING = f"SET SESSION sql_mode = {quoting.text(WRITING_MODE)}, innodb_lock_wait_timeout = 5"


class ValueTooLong(Refused):
    """The server reported "out of range", which the dialect makes it do for a value that is too long to read."""


class MySQLSession(SqlSession):
    """Runs statements on one connection. `settings` are more settings of a session that reads."""

    grant = "GRANT the user INSERT, UPDATE and DELETE on the tables to be repaired"

    def __init__(
        self,
        url: EndpointUrl,
        purpose: Purpose = Purpose.READ,
        server_kind: ServerKind = ServerKind.MARIADB,
        settings: str | None = None,
    ) -> None:
        super().__init__(url, MySQLDialect(server_kind), purpose, lambda: _open(url, purpose, settings))

    def driver_errors(self) -> tuple[type[Exception], ...]:
        import pymysql

        errors = (pymysql.MySQLError, OSError)
        # A mover sends rows of the source inside: text that can't be encoded says nothing about this connection.
        return (*errors, UnicodeError) if self.purpose is Purpose.READ or self.connection is None else errors

    def explain(self, error: Exception) -> ServerError:
        return explained(error) if self.connection is None else explained(error, "the connection was lost")

    def run(self, statement: str, parameters: Sequence[Any]) -> Any:
        cursor = self.connection.cursor()
        cursor.execute(statement, list(parameters) if parameters else None)
        return cursor

    def text(self, value: str) -> str:
        return quoting.text(value)

    def begin(self) -> None:
        self.execute("START TRANSACTION")

    def plan(self, statement: str) -> list[dict[str, Any]]:
        """The steps of the server's plan for a statement."""
        with self.translated(), self.connection.cursor() as cursor:
            return plan_of(cursor, statement)

    def error(self, meaning: ErrorMeaning, said: str) -> Exception:
        if self.connection is None and self.purpose is Purpose.REPAIR:
            # The server does not object to a change: it was not asked for one yet.
            return meaning.for_reader(f"{self.url.redacted()}: {said}")
        if meaning is VALUE_TOO_LONG and self.purpose is Purpose.REPAIR:
            return ValueTooLong(said)
        return super().error(meaning, said)


def _open(url: EndpointUrl, purpose: Purpose, settings: str | None) -> Any:
    from pymysql.constants import CLIENT

    if purpose is Purpose.READ:
        return connect(url, settings=settings)
    # FOUND_ROWS: an UPDATE counts the rows that it found, even if they had the values already.
    if purpose is Purpose.MOVE:
        connection = connect(url, client_flag=CLIENT.LOCAL_FILES | CLIENT.FOUND_ROWS, settings=PATIENT)
    else:
        connection = connect(url, client_flag=CLIENT.FOUND_ROWS)
    try:
        with connection.cursor() as cursor:
            cursor.execute(_MOVING if purpose is Purpose.MOVE else _REPAIRING)
    except BaseException:
        connection.close()
        raise
    return connection
