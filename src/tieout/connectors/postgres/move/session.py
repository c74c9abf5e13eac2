"""A connection that writes to PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.connectors.postgres.errors import MOVER, translated
from tieout.connectors.postgres.session import connect
from tieout.errors import WriteError
from tieout.model.tables import TableName


class PostgresSession:
    def __init__(self, url: EndpointUrl) -> None:
        self.url = url
        self._dialect = PostgresDialect()
        with self.answered():
            self.connection = connect(url, "tieout mover")
            # A merge takes as long as it takes.
            self.connection.execute("SET lock_timeout = '20s'; SET statement_timeout = 0")
            self.connection.execute("SET idle_in_transaction_session_timeout = 0")
            self._put_triggers_to_sleep()

    def _put_triggers_to_sleep(self) -> None:
        """Triggers and foreign keys did their work on the source. Without the right to it, they do it again here."""
        import psycopg

        with suppress(psycopg.errors.InsufficientPrivilege):
            self.connection.execute("SET session_replication_role = replica")

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> int:
        with self.answered():
            return int(self._run(statement, parameters).rowcount)

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self.answered():
            return list(self._run(statement, parameters).fetchall())

    def _run(self, statement: str, parameters: Sequence[Any]) -> Any:
        if not parameters:
            return self.connection.execute(statement)
        return self.connection.execute(statement, list(parameters))

    def quote(self, name: str) -> str:
        return self._dialect.quote(name)

    def table(self, name: TableName) -> str:
        return self._dialect.table(name)

    def text(self, value: str) -> str:
        return quoting.text(value)

    def begin(self) -> None:
        self.execute("BEGIN")

    def commit(self) -> None:
        with self.answered():
            if self.connection.execute("COMMIT").statusmessage != "COMMIT":
                raise WriteError(f"{self.url.redacted()}: the server rolled the transaction back")

    def rollback(self) -> None:
        with suppress(Exception):
            self.connection.rollback()

    def close(self) -> None:
        with suppress(Exception):
            self.connection.close()

    def answered(self) -> AbstractContextManager[None]:
        """Driver errors inside become EndpointErrors: one line, no password."""
        return translated(self.url, MOVER, getattr(self, "connection", None))
