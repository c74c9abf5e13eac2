"""One connection to a database: runs statements, and turns the driver's errors into ours.

An engine has one subclass of SqlSession, for everything that does more than read rows: movers, repairs and schema
checks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from enum import Enum, auto
from typing import Any, ClassVar, NamedTuple

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.check import StatementError
from tieout.connectors.sql.dialect import Dialect
from tieout.connectors.sql.error_meanings import ErrorMeaning
from tieout.errors import UnreachableError
from tieout.model.tables import TableName


class Purpose(Enum):
    """What a session is for: the same server error means something different to each (see ErrorMeaning)."""

    READ = auto()
    """Verifications, checks, preflights. Errors are EndpointErrors."""
    MOVE = auto()
    """Movers, which retry by themselves. Errors are EndpointErrors; BusyError and UnreachableError are retried."""
    REPAIR = auto()
    """Repairs. Errors are Refused, TryAgain or EndpointErrors."""


class ServerError(NamedTuple):
    """A driver's error: what it means, and the server's own line, without passwords and without hidden values."""

    meaning: ErrorMeaning
    said: str


class SqlSession(ABC):
    """A connection in autocommit mode until `begin`. Placeholders of parameters are %s.

    A subclass says which errors its driver raises, what they mean, how it runs a statement and how it writes a text:
    `driver_errors`, `explain`, `run` and `text`. `connect` opens the driver's connection and gives it its settings.
    """

    grant: ClassVar[str]
    """A hint: the privileges that a repair needs, for when the server denies access."""

    def __init__(self, url: EndpointUrl, dialect: Dialect, purpose: Purpose, connect: Callable[[], Any]) -> None:
        self.url = url
        self.dialect = dialect
        self.purpose = purpose
        self.connection: Any = None
        """The driver's connection; None until it is open."""
        with self.translated():
            self.connection = connect()

    @abstractmethod
    def driver_errors(self) -> tuple[type[Exception], ...]:
        """The errors that the driver raises. A method, so that a driver is imported only when it is used."""

    @abstractmethod
    def explain(self, error: Exception) -> ServerError:
        """Looks up an error of the driver in the engine's table of errors."""

    @abstractmethod
    def run(self, statement: str, parameters: Sequence[Any]) -> Any:
        """The driver's cursor, with `rowcount`, `fetchall` and `close`. Errors are the driver's own."""

    @abstractmethod
    def text(self, value: str) -> str:
        """A text as a literal."""

    def quote(self, name: str) -> str:
        return self.dialect.quote(name)

    def table(self, name: TableName) -> str:
        return self.dialect.table(name)

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> int:
        """Returns the number of rows that changed."""
        with self.translated(), closing(self.run(statement, parameters)) as cursor:
            return int(cursor.rowcount)

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self.translated():
            return self._fetched(statement, parameters)

    def attempt(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]] | StatementError:
        """The rows, or the server's objection to the statement. Raises if the connection is lost."""
        try:
            return self._fetched(statement, parameters)
        except self.driver_errors() as error:
            meaning, said = self.explain(error)
            if issubclass(meaning.error, UnreachableError) and not meaning.inconclusive:
                raise self.error(meaning, said) from None
            return self.objection(meaning, said)

    def error_of(self, statement: str, parameters: Sequence[Any] = ()) -> StatementError | None:
        """The server's objection to the statement, if it has one."""
        found = self.attempt(statement, parameters)
        return found if isinstance(found, StatementError) else None

    def objection(self, meaning: ErrorMeaning, said: str) -> StatementError:
        return StatementError(said, conclusive=not meaning.inconclusive)

    def begin(self) -> None:
        self.execute("BEGIN")

    def commit(self) -> None:
        self.execute("COMMIT")

    def rollback(self) -> None:
        """Never raises: a connection that is gone has rolled back."""
        with suppress(Exception):
            self.connection.rollback()

    def close(self) -> None:
        """Never raises."""
        with suppress(Exception):
            self.connection.close()

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turns the driver's errors inside the block into ours."""
        try:
            yield
        except self.driver_errors() as error:
            raise self.error(*self.explain(error)) from None

    def error(self, meaning: ErrorMeaning, said: str) -> Exception:
        """Turns a meaning into the error that suits this session's purpose."""
        message = f"{self.url.redacted()}: {said}"
        if self.purpose is Purpose.REPAIR:
            return meaning.for_repair(message, said, grant=self.grant)
        return meaning.for_mover(message) if self.purpose is Purpose.MOVE else meaning.for_reader(message)

    def _fetched(self, statement: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        with closing(self.run(statement, parameters)) as cursor:
            return list(cursor.fetchall())
