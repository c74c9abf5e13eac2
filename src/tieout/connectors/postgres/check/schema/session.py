"""A session that asks about definitions: it changes nothing, waits for nobody, and finds no name by accident."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres.errors import CONNECTION_ENDED, first_line, meaning_of, plain_line, translated
from tieout.connectors.postgres.session import connect
from tieout.connectors.protocols.check import Trouble

TABLE_SCANS = {
    "statement_timeout": "10min",
    "enable_indexscan": "off",
    "enable_indexonlyscan": "off",
    "enable_bitmapscan": "off",
}
"""For reading rows: no index is believed, and none may answer for its table."""

_SETTINGS = {
    "default_transaction_read_only": "on",
    "lock_timeout": "5s",
    "statement_timeout": "60s",
}


@contextmanager
def schema_session(url: EndpointUrl) -> Iterator[SchemaSession]:
    with translated(url), closing(connect(url, "tieout check", _SETTINGS)) as connection:
        yield SchemaSession(connection)


@dataclass(frozen=True)
class SchemaSession:
    connection: Any

    def rows(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        return list(self.connection.execute(statement, parameters or None).fetchall())

    def tried(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]] | Trouble:
        """The rows, or what the server has against it."""
        import psycopg

        try:
            return self.rows(statement, *parameters)
        except psycopg.Error as error:
            if self.connection.closed or str(error.sqlstate).startswith(CONNECTION_ENDED):
                raise
            return trouble_of(str(error), error.sqlstate)

    def trouble(self, statement: str, *parameters: Any) -> Trouble | None:
        found = self.tried(statement, *parameters)
        return found if isinstance(found, Trouble) else None

    def compiled(self, statement: str) -> list[tuple[str, int]] | Trouble:
        """Names and types of the columns that a query would have: it is parsed and its names are looked up."""
        from psycopg import pq

        server = self.connection.pgconn
        for result in (server.prepare(b"", statement.encode()), server.describe_prepared(b"")):
            if result.status != pq.ExecStatus.COMMAND_OK:
                state = result.error_field(pq.DiagnosticField.SQLSTATE)
                text = result.error_message.decode("utf-8", "replace")
                return Trouble(plain_line(text), not meaning_of(state.decode() if state else None).inconclusive)
        return [(result.fname(n).decode(), result.ftype(n)) for n in range(result.nfields)]

    def fails_to_compile(self, statement: str) -> Trouble | None:
        found = self.compiled(statement)
        return found if isinstance(found, Trouble) else None

    @contextmanager
    def setting(self, **settings: str) -> Iterator[None]:
        """For the block only."""
        for name, value in settings.items():
            self.rows("SELECT pg_catalog.set_config(%s, %s, false)", name, value)
        try:
            yield
        finally:
            for name in settings:
                self.connection.execute(f"RESET {name}")


def trouble_of(text: str, state: str | None) -> Trouble:
    return Trouble(first_line(text, state), not meaning_of(state).inconclusive)


def spread(found: Sequence[tuple[Any, ...]]) -> dict[Any, list[tuple[Any, ...]]]:
    """Rows by what stands first in them."""
    grouped: dict[Any, list[tuple[Any, ...]]] = {}
    for first, *rest in found:
        grouped.setdefault(first, []).append(tuple(rest))
    return grouped
