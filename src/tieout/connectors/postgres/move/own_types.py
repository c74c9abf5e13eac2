"""What a PostgreSQL table needs of its database besides itself: enums, domains and collations."""

from __future__ import annotations

from typing import Any

from tieout.connectors.postgres import quoting

# Through domains and arrays down to what they are made of.
_USED = """
WITH RECURSIVE used AS (
  SELECT a.attname, a.atttypid AS oid, 0 AS depth
  FROM pg_attribute a WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT u.attname, CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.typelem END, u.depth + 1
  FROM used u JOIN pg_type t ON t.oid = u.oid WHERE t.typtype = 'd' OR (t.typelem <> 0 AND t.typcategory = 'A'))
"""
_OWN = "n.nspname NOT IN ('pg_catalog', 'information_schema')"

_MADE = f"""{_USED}
SELECT n.nspname, format_type(t.oid, NULL),
  (SELECT array_agg(l.enumlabel ORDER BY l.enumsortorder) FROM pg_enum l WHERE l.enumtypid = t.oid),
  CASE WHEN t.typtype = 'd' THEN format_type(t.typbasetype, t.typtypmod)
    || coalesce(' COLLATE ' || nullif(t.typcollation, b.typcollation)::regcollation::text, '')
    || coalesce(' DEFAULT ' || t.typdefault, '') || CASE WHEN t.typnotnull THEN ' NOT NULL' ELSE '' END
    || coalesce((SELECT string_agg(format(' CONSTRAINT %%I ', c.conname) || pg_get_constraintdef(c.oid), '')
                 FROM pg_constraint c WHERE c.contypid = t.oid AND c.contype = 'c'), '') END
FROM (SELECT oid, max(depth) AS depth FROM used GROUP BY oid) AS u JOIN pg_type t ON t.oid = u.oid
JOIN pg_namespace n ON n.oid = t.typnamespace LEFT JOIN pg_type b ON b.oid = t.typbasetype
WHERE t.typtype IN ('e', 'd') AND {_OWN} ORDER BY u.depth DESC, 2"""

_NEEDED = f"""{_USED}
SELECT u.attname, format_type(t.oid, NULL) FROM used u JOIN pg_type t ON t.oid = u.oid
JOIN pg_namespace n ON n.oid = t.typnamespace
WHERE t.typtype NOT IN ('e', 'd') AND t.typcategory <> 'A' AND {_OWN}"""

_COLLATIONS = f"""{_USED}
SELECT DISTINCT n.nspname, o.oid::regcollation::text, o.collprovider::text, o.collisdeterministic,
  o.collcollate, o.collctype, coalesce(to_jsonb(o) ->> 'colllocale', to_jsonb(o) ->> 'colliculocale'),
  to_jsonb(o) ->> 'collicurules'
FROM (SELECT a.attcollation AS oid FROM pg_attribute a WHERE a.attrelid = %s::regclass AND NOT a.attisdropped
      UNION SELECT t.typcollation FROM used u JOIN pg_type t ON t.oid = u.oid) AS c
JOIN pg_collation o ON o.oid = c.oid JOIN pg_namespace n ON n.oid = o.collnamespace WHERE {_OWN} ORDER BY 2"""


def own_types(connection: Any, quoted: str) -> list[str]:
    """Statements that make them. What is there already stays as it is."""
    statements: list[str] = []
    for schema, name, *facts in connection.execute(_COLLATIONS, [quoted, quoted]).fetchall():
        statements += [_schema(schema), _unless_there(f"CREATE COLLATION {name} ({_collation(*facts)})")]
    for schema, name, labels, domain in connection.execute(_MADE, [quoted]).fetchall():
        enum = f"CREATE TYPE {name} AS ENUM ({', '.join(map(quoting.text, labels or ()))})"
        statements += [_schema(schema), _unless_there(f"CREATE DOMAIN {name} AS {domain}" if domain else enum)]
    return list(dict.fromkeys(statements))


def needed_types(connection: Any, quoted: str) -> dict[str, str]:
    """The types that can't be made from the catalog alone (those of extensions, for one), by column."""
    return dict(connection.execute(_NEEDED, [quoted]).fetchall())


def _schema(name: str) -> str:
    return f"CREATE SCHEMA IF NOT EXISTS {quoting.name(name)}"


def _unless_there(statement: str) -> str:
    return "DO " + quoting.text(f"BEGIN {statement}; EXCEPTION WHEN duplicate_object THEN NULL; END")


def _collation(
    provider: str, deterministic: bool, collate: str | None, ctype: str | None, locale: str | None, rules: str | None
) -> str:
    if provider == "c":
        return f"provider = libc, lc_collate = {quoting.text(collate or '')}, lc_ctype = {quoting.text(ctype or '')}"
    name = "icu" if provider == "i" else "builtin"
    extra = f", rules = {quoting.text(rules)}" if rules else ""
    return (
        f"provider = {name}, locale = {quoting.text(locale or '')}, deterministic = {str(deterministic).lower()}{extra}"
    )
