"""All that a database has, by name."""

from __future__ import annotations

import re
from typing import Any

POSTGRES = """
SELECT 'relation ' || c.relkind::text, n.nspname, c.relname
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
UNION ALL SELECT 'column', n.nspname || ' / ' || c.relname, a.attname FROM pg_attribute a
  JOIN pg_class c ON c.oid = a.attrelid AND c.relkind = 'r' JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE a.attnum > 0 AND NOT a.attisdropped
UNION ALL SELECT 'constraint', n.nspname, k.conname FROM pg_constraint k JOIN pg_namespace n ON n.oid = k.connamespace
UNION ALL SELECT 'type', n.nspname, t.typname || ' ' || e.enumlabel
  FROM pg_enum e JOIN pg_type t ON t.oid = e.enumtypid JOIN pg_namespace n ON n.oid = t.typnamespace
UNION ALL SELECT 'function', n.nspname, p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
UNION ALL SELECT 'trigger', n.nspname, g.tgname FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace WHERE NOT g.tgisinternal
UNION ALL SELECT 'schema', '', nspname FROM pg_namespace
UNION ALL SELECT 'role', '', rolname FROM pg_roles
UNION ALL SELECT 'publication', '', pubname FROM pg_publication
UNION ALL SELECT 'comment', '', d.description FROM pg_description d WHERE d.objoid >= 16384 AND d.classoid = 1259"""

MARIADB = """
SELECT 'table', '', table_name FROM information_schema.tables WHERE table_schema = DATABASE()
UNION ALL SELECT 'column', table_name, column_name FROM information_schema.columns WHERE table_schema = DATABASE()
UNION ALL SELECT 'index', table_name, index_name FROM information_schema.statistics WHERE table_schema = DATABASE()
UNION ALL SELECT 'constraint', table_name, constraint_name FROM information_schema.table_constraints
  WHERE table_schema = DATABASE()
UNION ALL SELECT 'trigger', '', trigger_name FROM information_schema.triggers WHERE trigger_schema = DATABASE()
UNION ALL SELECT 'routine', '', routine_name FROM information_schema.routines
UNION ALL SELECT 'database', '', schema_name FROM information_schema.schemata
UNION ALL SELECT 'user', host, user FROM mysql.user"""

SQLITE = "SELECT type, tbl_name, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"

Catalog = set[tuple[str, str, str]]


def catalog(database: Any) -> Catalog:
    """Kind, place and name of everything; without what PostgreSQL itself has."""
    scheme = "sqlite" if not hasattr(database, "server") else database.server.scheme
    rows = database.rows({"sqlite": SQLITE, "mysql": MARIADB, "postgresql": POSTGRES}[scheme])
    if scheme != "postgresql":
        return set(rows)
    own = re.compile(r"pg_.*|information_schema(?: / .*)?", re.DOTALL)
    return {(kind, place, name) for kind, place, name in rows if not own.fullmatch(place)}


def places(found: Catalog) -> Catalog:
    """Tables and their columns, wherever they are: what two engines have alike."""
    plain = {("table", "", name) for kind, _, name in found if kind in ("table", "relation r")}
    return plain | {("column", place.rpartition(" / ")[2], name) for kind, place, name in found if kind == "column"}
