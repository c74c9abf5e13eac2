"""A connection to PostgreSQL for more than a read: movers, repairs, and checks of definitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.connection import connect
from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.connectors.postgres.errors import CLOSED, REPAIR_GRANT, explain, first_line
from tieout.connectors.sql.error_meanings import ErrorMeaning
from tieout.connectors.sql.session import Purpose, ServerError, SqlSession

REPAIR_LOCK_WAIT = "SET lock_timeout = '5s'"
# A merge takes as long as it takes.
_MOVER_WAITS = (
    "SET lock_timeout = '20s'; SET statement_timeout = 0",
    "SET idle_in_transaction_session_timeout = 0",
)


class PostgresSession(SqlSession):
    """`settings` come with the login; `prepare` runs on the new connection."""

    grant = REPAIR_GRANT

    def __init__(
        self,
        url: EndpointUrl,
        purpose: Purpose,
        application: str,
        settings: Mapping[str, str | None] | None = None,
        prepare: Callable[[Any], None] = lambda connection: None,
    ) -> None:
        def opened() -> Any:
            connection = connect(url, application, settings)
            try:
                prepare(connection)
            except BaseException:
                connection.close()
                raise
            return connection

        self.has_our_path = purpose is not Purpose.REPAIR
        """False while statements run with the search_path of users."""
        super().__init__(url, PostgresDialect(), purpose, opened)

    def driver_errors(self) -> tuple[type[Exception], ...]:
        import psycopg

        return (psycopg.Error,)

    def explain(self, error: Exception) -> ServerError:
        state = getattr(error, "sqlstate", None)
        if self.connection is not None and (self.connection.closed or (state is None and self._writes)):
            return ServerError(CLOSED, first_line(str(error), state))
        return explain(error, functions_have_our_path=self.has_our_path)

    @property
    def _writes(self) -> bool:
        return self.purpose is not Purpose.READ

    def error(self, meaning: ErrorMeaning, said: str) -> Exception:
        if self.connection is None and self.purpose is Purpose.REPAIR:
            # The server does not object to a change: it was not asked for one yet.
            return meaning.for_reader(f"{self.url.redacted()}: {said}")
        return super().error(meaning, said)

    def run(self, statement: str, parameters: Sequence[Any]) -> Any:
        return self.connection.execute(statement, list(parameters) or None)

    def text(self, value: str) -> str:
        return quoting.text(value)

    def commit(self) -> None:
        with self.translated():
            ended = self.connection.execute("COMMIT").statusmessage
        if ended != "COMMIT":
            raise self.error(ErrorMeaning(), "the server rolled the transaction back")


def mover_session(url: EndpointUrl) -> PostgresSession:
    return PostgresSession(url, Purpose.MOVE, "tieout mover", prepare=_prepare_mover)


def repair_session(url: EndpointUrl) -> PostgresSession:
    return PostgresSession(
        url, Purpose.REPAIR, "tieout repair", prepare=lambda connection: connection.execute(REPAIR_LOCK_WAIT)
    )


def _prepare_mover(connection: Any) -> None:
    import psycopg

    for statement in _MOVER_WAITS:
        connection.execute(statement)
    # Triggers and foreign keys did their work on the source. Without the right to it, they do it again here.
    with suppress(psycopg.errors.InsufficientPrivilege):
        connection.execute("SET session_replication_role = replica")
