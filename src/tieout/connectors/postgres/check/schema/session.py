"""A session that asks about definitions: it changes nothing, waits for nobody, and finds no name by accident."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres.errors import meaning_of, plain_line
from tieout.connectors.postgres.protocol.describe import NotCompiled, described
from tieout.connectors.postgres.session import PostgresSession
from tieout.connectors.protocols.check import Trouble
from tieout.connectors.sql.session import Purpose

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


class SchemaSession(PostgresSession):
    def __init__(self, url: EndpointUrl) -> None:
        super().__init__(url, Purpose.READ, "tieout check", _SETTINGS)

    def compiled(self, query: str) -> list[tuple[str, int]] | Trouble:
        """The names and types of the columns that a query would have, or the server's objection to it."""
        found = described(self.connection, query)
        if isinstance(found, NotCompiled):
            return self.objection(meaning_of(found.state), plain_line(found.text))
        return found

    def fails_to_compile(self, statement: str) -> Trouble | None:
        found = self.compiled(statement)
        return found if isinstance(found, Trouble) else None

    @contextmanager
    def setting(self, **settings: str) -> Iterator[None]:
        """For the block only."""
        for name, value in settings.items():
            self.rows("SELECT pg_catalog.set_config(%s, %s, false)", [name, value])
        try:
            yield
        finally:
            for name in settings:
                self.execute(f"RESET {name}")


def spread(found: Sequence[tuple[Any, ...]]) -> dict[Any, list[tuple[Any, ...]]]:
    """Rows by what stands first in them."""
    grouped: dict[Any, list[tuple[Any, ...]]] = {}
    for first, *rest in found:
        grouped.setdefault(first, []).append(tuple(rest))
    return grouped
