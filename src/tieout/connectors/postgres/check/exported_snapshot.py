"""One moment of a database that several connections see: a snapshot that is held for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.connection import connect, libpq_url
from tieout.connectors.postgres.errors import translated
from tieout.connectors.sql.connection_cache import lease

_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# The session that holds a snapshot does nothing else, for as long as others read.
_IDLE = {"idle_in_transaction_session_timeout": "0"}


class Moment:
    """Held from when it is first asked for until `let_go`. After that, it is another one."""

    def __init__(self, url: EndpointUrl) -> None:
        self._url = url
        self._connection: Any = None
        self._name = ""

    def name(self) -> str:
        if self._connection is None:
            with translated(self._url), ExitStack() as opened:
                connection = opened.enter_context(closing(connect(self._url, "tieout driver", _IDLE)))
                connection.execute(_BEGIN)
                (self._name,) = connection.execute("SELECT pg_export_snapshot()").fetchone()
                opened.pop_all()
                self._connection = connection
        return self._name

    def let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


@contextmanager
def cursor_at(url: EndpointUrl, moment: str | None, settings: Mapping[str, str], *, arrow: bool) -> Iterator[Any]:
    """A cursor that sees the moment, or the present if that is None; in a session with these settings.

    It hands out Arrow, or rows as psycopg makes them.
    """
    address = libpq_url(url, "tieout executor", settings)

    def connected() -> Any:
        if not arrow:
            return connect(url, "tieout executor", settings)
        from tieout.connectors.postgres.arrow import ArrowConnection

        return ArrowConnection(address)

    with translated(url), lease((arrow, address), connected) as connection, connection.cursor() as cursor:
        if moment is None:
            yield cursor
            return
        cursor.execute(_BEGIN)
        cursor.execute(f"SET TRANSACTION SNAPSHOT {quoting.text(moment)}")
        yield cursor
        cursor.execute("COMMIT")
