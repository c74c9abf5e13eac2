"""A session that asks about definitions: it changes nothing, and waits for nobody."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.dialect import MySQLDialect
from tieout.connectors.mysql.errors import code_of, first_line, meaning_of, translated
from tieout.connectors.mysql.server_kind import Flavour
from tieout.connectors.mysql.session import connect
from tieout.connectors.protocols.check import Trouble
from tieout.errors import UnreachableError

_SETTINGS = {
    Flavour.MARIADB: "lock_wait_timeout = 5, max_statement_time = 600",
    Flavour.MYSQL: "lock_wait_timeout = 5, max_execution_time = 600000, information_schema_stats_expiry = 0",
    Flavour.TIDB: "max_execution_time = 600000",
}


@contextmanager
def schema_session(url: EndpointUrl, flavour: Flavour) -> Iterator[SchemaSession]:
    with translated(url), closing(connect(url, settings=_SETTINGS[flavour])) as connection:
        session = SchemaSession(connection, MySQLDialect(flavour))
        session.allow("READ ONLY")
        yield session


@dataclass(frozen=True)
class SchemaSession:
    connection: Any
    dialect: MySQLDialect

    def rows(self, statement: str, parameters: Sequence[Any] | None = None) -> list[tuple[Any, ...]]:
        with self.connection.cursor() as cursor:
            cursor.execute(statement, parameters)
            return list(cursor.fetchall())

    def about(self, statement: str, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """With the names in the place of {}."""
        return self.rows(statement.format(", ".join(["%s"] * len(names))), names) if names else []

    def tried(self, statement: str, parameters: Sequence[Any] | None = None) -> list[tuple[Any, ...]] | Trouble:
        """The rows, or what the server has against it."""
        import pymysql

        try:
            return self.rows(statement, parameters)
        except pymysql.MySQLError as error:
            code = code_of(error)
            if code == 0:
                raise
            text = str(error.args[1])
            meaning = meaning_of(code, text)
            if issubclass(meaning.error, UnreachableError):
                raise
            return Trouble(first_line(code, text), not meaning.inconclusive)

    def allow(self, what: str) -> None:
        # TiDB knows the words, and refuses them.
        if self.dialect.flavour is not Flavour.TIDB:
            self.rows(f"SET SESSION TRANSACTION {what}")

    def trouble(self, statement: str) -> Trouble | None:
        found = self.tried(statement)
        return found if isinstance(found, Trouble) else None

    def fails_to_compile(self, query: str) -> Trouble | None:
        """EXPLAIN would run what it takes for constant: functions of users, too. PREPARE runs nothing.

        One who only reads may not even prepare what takes from a sequence.
        """
        self.allow("READ WRITE")
        try:
            found = self.tried("PREPARE tieout FROM %s", [query])
        finally:
            self.allow("READ ONLY")
        return found if isinstance(found, Trouble) else None
