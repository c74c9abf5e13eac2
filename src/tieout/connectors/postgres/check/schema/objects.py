"""The objects of a PostgreSQL database that have definitions."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tieout.connectors.postgres.check.schema.session import SchemaSession
from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.connectors.protocols.check import Inspection
from tieout.model.tables import TableName

# A relation whose schema is gone can't be named by anybody: only here is it found.
_NAMES = """
SELECT c.oid, c.relkind::text, c.relpersistence,
  coalesce(n.nspname, 'schema ' || c.relnamespace || ' (gone)') AS schema, c.relname
FROM pg_class c LEFT JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm')"""

_ALL = f"""
WITH relation AS ({_NAMES})
SELECT oid, schema, relname, relkind FROM relation
WHERE relpersistence <> 't' AND schema NOT IN ('pg_catalog', 'information_schema') AND schema !~ '^pg_toast'
ORDER BY schema, relname"""

# Which views read a table stands in their rules; what the catalog notes of dependencies may be gone.
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
        """Rows that can be read without asking another server."""
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
