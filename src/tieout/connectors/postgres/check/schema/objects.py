"""The objects of a PostgreSQL database that have definitions, and the session that checks them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.connectors.postgres.errors import meaning_of, plain_line
from tieout.connectors.postgres.protocol.describe import NotCompiled, described
from tieout.connectors.postgres.session import PostgresSession
from tieout.connectors.protocols.check import Inspection, StatementError
from tieout.connectors.sql.session import Purpose
from tieout.model.tables import TableName

TABLE_SCANS = {
    "statement_timeout": "10min",
    "enable_indexscan": "off",
    "enable_indexonlyscan": "off",
    "enable_bitmapscan": "off",
}
"""For reading rows: from the table itself, never from an index."""

_SETTINGS = {
    "default_transaction_read_only": "on",
    "lock_timeout": "5s",
    "statement_timeout": "60s",
}


class SchemaSession(PostgresSession):
    """Changes nothing, does not wait for others, and finds no name by accident: its search_path is pg_catalog."""

    def __init__(self, url: EndpointUrl) -> None:
        super().__init__(url, Purpose.READ, "tieout check", _SETTINGS)

    def compiled(self, query: str) -> list[tuple[str, int]] | StatementError:
        """The names and types of the columns that a query would have, or the server's objection to it."""
        found = described(self.connection, query)
        if isinstance(found, NotCompiled):
            return self.objection(meaning_of(found.state), plain_line(found.text))
        return found

    def fails_to_compile(self, statement: str) -> StatementError | None:
        found = self.compiled(statement)
        return found if isinstance(found, StatementError) else None

    @contextmanager
    def setting(self, **settings: str) -> Iterator[None]:
        """Changes settings for the block only."""
        for name, value in settings.items():
            self.rows("SELECT pg_catalog.set_config(%s, %s, false)", [name, value])
        self.has_our_path = "search_path" not in settings
        try:
            yield
        finally:
            self.has_our_path = True
            for name in settings:
                self.execute(f"RESET {name}")


def spread(found: Sequence[tuple[Any, ...]]) -> dict[Any, list[tuple[Any, ...]]]:
    """Groups rows by their first column."""
    grouped: dict[Any, list[tuple[Any, ...]]] = {}
    for first, *rest in found:
        grouped.setdefault(first, []).append(tuple(rest))
    return grouped


# Nobody can name a relation whose schema does not exist: only this finds it.
_NAMES = """
SELECT c.oid, c.relkind::text, c.relpersistence,
  coalesce(n.nspname, 'schema ' || c.relnamespace || ' (gone)') AS schema, c.relname
FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm')"""

_ALL = f"""
WITH relation AS ({_NAMES})
SELECT oid, schema, relname, relkind FROM relation
WHERE relpersistence <> 't' AND schema NOT IN ('pg_catalog', 'information_schema') AND schema !~ '^pg_toast'
ORDER BY schema, relname"""

# The rules of views say which tables they read; the catalog's record of dependencies may be lost.
_NAMED = f"""
WITH RECURSIVE relation AS ({_NAMES}), wanted AS (
  SELECT r.oid FROM unnest(%s::text[], %s::text[]) AS name(schema, relname) JOIN relation r USING (schema, relname)
  UNION
  SELECT r.ev_class FROM wanted w
  JOIN pg_rewrite r ON r.ev_type = '1' AND strpos(r.ev_action::text, ':relid ' || w.oid || ' ') > 0)
SELECT oid, schema, relname, relkind FROM wanted JOIN relation USING (oid) ORDER BY schema, relname"""

_WHAT = {"f": "foreign table", "v": "view", "m": "materialized view"}


@dataclass(frozen=True)
class Relation:
    """`kind` is that of the catalog: r, p (has partitions), f (foreign), v (view), m (materialized view)."""

    oid: int
    kind: str
    inspection: Inspection

    @property
    def quoted(self) -> str:
        return PostgresDialect().table(self.inspection.name)

    @property
    def is_view(self) -> bool:
        return self.kind in "vm"

    @property
    def has_rows(self) -> bool:
        """True if it has rows that this server holds itself."""
        return self.kind in "rpm"


def relations(session: SchemaSession, names: Collection[TableName] | None) -> dict[int, Relation]:
    if names is None:
        rows = session.rows(_ALL)
    else:
        rows = session.rows(_NAMED, [[name.schema for name in names], [name.name for name in names]])
    return {
        oid: Relation(oid, kind, Inspection(TableName(schema, name), _WHAT.get(kind)))
        for oid, schema, name, kind in rows
    }
