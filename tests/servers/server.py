"""What a test sees of a server: databases, statements, and what the server was asked."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import quote

from tests.servers.process import HOST, ServerProcess

USER = "tieout"
PASSWORD = "p@ss/w:rd"  # every character that a URL must quote

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement as the server saw it. `connection` is its thread or process id.

    `database` is None if a MariaDB client had connected before the recording began; `application` is
    PostgreSQL's application_name.
    """

    text: str
    connection: int
    database: str | None = None
    application: str | None = None


@dataclass(frozen=True)
class Server(ABC):
    """A running private server, and its superuser. SQL takes the driver's parameters: %s."""

    process: ServerProcess
    port: int
    host: str = HOST
    user: str = USER
    password: str = PASSWORD

    scheme: ClassVar[str]

    @abstractmethod
    def connect(self, database: str | None = None) -> AbstractContextManager[Any]:
        """A driver connection in autocommit mode, closed when the block ends."""

    @abstractmethod
    def recording(self) -> AbstractContextManager[list[Statement]]:
        """A list that holds, once the block has ended, what the server was asked in it. Not nested."""

    @abstractmethod
    def create_database(self, name: str) -> None: ...

    @abstractmethod
    def drop_database(self, name: str) -> None:
        """Drops it, whoever is still connected to it."""

    def url(self, database: str) -> str:
        return f"{self.scheme}://{self.user}:{quote(self.password, safe='')}@{self.host}:{self.port}/{database}"

    def execute(self, database: str | None, sql: str, *params: Any) -> None:
        """Runs and commits one statement, or several if there are no parameters."""
        with self.connect(database) as connection, connection.cursor() as cursor:
            cursor.execute(sql, params or None)
            while cursor.nextset():  # an error in a later statement shows only here
                pass

    def executemany(self, database: str | None, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        with self.connect(database) as connection, connection.cursor() as cursor:
            cursor.executemany(sql, list(rows))

    def rows(self, database: str | None, sql: str, *params: Any) -> list[Row]:
        with self.connect(database) as connection, connection.cursor() as cursor:
            cursor.execute(sql, params or None)
            return list(cursor.fetchall())

    @contextmanager
    def fresh_database(self) -> Iterator[Database]:
        """An empty database with a name of its own, dropped when the block ends."""
        name = fresh_name()
        self.create_database(name)
        try:
            yield Database(self, name)
        finally:
            self.drop_database(name)

    def stop(self) -> None:
        self.process.stop()


def fresh_name() -> str:
    """Of a database that is not there yet."""
    return f"t_{uuid.uuid4().hex[:12]}"


@dataclass(frozen=True)
class Database:
    """One database of a server."""

    server: Server
    name: str

    @property
    def url(self) -> str:
        return self.server.url(self.name)

    def connect(self) -> AbstractContextManager[Any]:
        return self.server.connect(self.name)

    def execute(self, sql: str, *params: Any) -> None:
        self.server.execute(self.name, sql, *params)

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self.server.executemany(self.name, sql, rows)

    def rows(self, sql: str, *params: Any) -> list[Row]:
        return self.server.rows(self.name, sql, *params)

    @contextmanager
    def recording(self) -> Iterator[list[Statement]]:
        """Like the server's, without what was asked of its other databases."""
        with self.server.recording() as statements:
            yield statements
        statements[:] = [statement for statement in statements if statement.database == self.name]
