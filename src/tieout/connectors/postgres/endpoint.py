"""A PostgreSQL database: its catalog, its version, its position."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from timeit import repeat
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.connection import connect, set_path, users_path
from tieout.connectors.postgres.errors import translated
from tieout.connectors.postgres.snapshot import PostgresReader
from tieout.connectors.postgres.types import BY_CODE_POINT, RawType, logical_type, order_of
from tieout.connectors.protocols.endpoint import Capabilities
from tieout.connectors.sql.keys import choose_key
from tieout.errors import MissingObjectError
from tieout.model.tables import Column, Constraint, Index, Table, TableName
from tieout.model.types import TypeName

_TABLES = """
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND n.nspname = ANY(%s) ORDER BY 1, 2"""

_SCHEMAS = """
SELECT nspname FROM pg_namespace
WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' AND has_schema_privilege(oid, 'USAGE') ORDER BY 1"""

# A user's type may have the same name as one of the server's own.
_NAMED = """CASE WHEN {0}.typnamespace = 'pg_catalog'::regnamespace OR NOT EXISTS (SELECT FROM pg_type known
    WHERE known.typname = {0}.typname AND known.typnamespace = 'pg_catalog'::regnamespace)
  THEN {0}.typname::text ELSE 'not ' || {0}.typname END"""

# A column of a result never has a domain's type, but the type below it.
_TYPE = f"""
SELECT {_NAMED.format("t")}, format_type(t.oid, %s), t.typtype,
  (SELECT {_NAMED.format("e")} FROM pg_type e WHERE e.oid = t.typelem),
  (SELECT array_agg(l.enumlabel ORDER BY l.enumsortorder) FROM pg_enum l WHERE l.enumtypid = t.oid)
FROM pg_type t WHERE t.oid = %s"""

_COLUMNS = f"""
WITH RECURSIVE base AS (
  SELECT a.attrelid, a.attnum, a.atttypid AS typid, a.atttypmod AS modifier
  FROM pg_attribute a WHERE a.attrelid = ANY(%s) AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT b.attrelid, b.attnum, t.typbasetype, CASE WHEN t.typtypmod >= 0 THEN t.typtypmod ELSE b.modifier END
  FROM base b JOIN pg_type t ON t.oid = b.typid WHERE t.typtype = 'd')
SELECT a.attrelid, a.attname, {_NAMED.format("t")}, format_type(a.atttypid, a.atttypmod), t.typtype, b.modifier,
  (SELECT {_NAMED.format("e")} FROM pg_type e WHERE e.oid = t.typelem),
  (SELECT array_agg(l.enumlabel ORDER BY l.enumsortorder) FROM pg_enum l WHERE l.enumtypid = t.oid),
  NOT a.attnotnull, a.attgenerated <> '', pg_get_expr(d.adbin, d.adrelid),
  o.collname, o.collprovider, coalesce(o.collisdeterministic, true),
  coalesce(o.collversion, ''), CASE o.collprovider WHEN 'c' THEN o.collcollate ELSE o.collprovider::text || ':' ||
    coalesce(to_jsonb(o) ->> 'colllocale', to_jsonb(o) ->> 'colliculocale', '') ||
    coalesce(to_jsonb(o) ->> 'collicurules', '') END,
  coalesce(to_jsonb(g) ->> 'datcollversion', ''), CASE coalesce(to_jsonb(g) ->> 'datlocprovider', 'c')
    WHEN 'c' THEN g.datcollate ELSE (to_jsonb(g) ->> 'datlocprovider') || ':' ||
    coalesce(to_jsonb(g) ->> 'datlocale', to_jsonb(g) ->> 'daticulocale', '') ||
    coalesce(to_jsonb(g) ->> 'daticurules', '') END,
  (SELECT s.nspname FROM pg_opclass p JOIN pg_am m ON m.oid = p.opcmethod
   JOIN pg_amop x ON x.amopfamily = p.opcfamily AND x.amoplefttype = p.opcintype AND x.amoprighttype = p.opcintype
     AND x.amopstrategy = CASE m.amname WHEN 'btree' THEN 3 ELSE 1 END
   JOIN pg_operator q ON q.oid = x.amopopr JOIN pg_namespace s ON s.oid = q.oprnamespace
   WHERE p.opcintype = t.oid AND p.opcdefault AND m.amname IN ('btree', 'hash') AND s.nspname <> 'pg_catalog'
   ORDER BY m.amname LIMIT 1)
FROM base b JOIN pg_attribute a ON a.attrelid = b.attrelid AND a.attnum = b.attnum
JOIN pg_type t ON t.oid = b.typid AND t.typtype <> 'd'
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
LEFT JOIN pg_collation o ON o.oid = a.attcollation
CROSS JOIN (SELECT * FROM pg_database WHERE datname = current_database()) g
ORDER BY a.attrelid, a.attnum"""

_INDEXES = """
SELECT i.indrelid, c.relname, i.indisunique AND i.indpred IS NULL AND i.indimmediate, i.indisprimary,
  (SELECT array_agg(a.attname ORDER BY k.place) FROM unnest(i.indkey) WITH ORDINALITY AS k(attnum, place)
   LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum WHERE k.place <= i.indnkeyatts)
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = ANY(%s) AND i.indisvalid ORDER BY 1, 2"""

_CONSTRAINTS = """
SELECT c.conrelid, c.conname, c.contype, pg_get_constraintdef(c.oid),
  (SELECT array_agg(a.attname ORDER BY k.place) FROM unnest(c.conkey) WITH ORDINALITY AS k(attnum, place)
   JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.attnum)
FROM pg_constraint c WHERE c.conrelid = ANY(%s) ORDER BY 1, 2"""

_SIZES = """
SELECT n.nspname, c.relname, c.oid, c.reltuples::int8, pg_relation_size(c.oid), c.relpages, c.relkind::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND (n.nspname, c.relname) IN (SELECT * FROM unnest(%s::text[], %s::text[]))"""

_HISTOGRAMS = """
SELECT ((quote_ident(s.schemaname) || '.' || quote_ident(s.tablename))::regclass)::oid, s.attname,
  s.histogram_bounds::text::text[]
FROM pg_stats s JOIN unnest(%s::text[], %s::text[]) AS wanted(schema, name)
  ON s.schemaname = wanted.schema AND s.tablename = wanted.name
WHERE s.histogram_bounds IS NOT NULL AND NOT s.inherited"""

_PAGE = 8192
_FRESH = 1.2
"""How much a table may have grown since ANALYZE for its histogram to be good enough to choose key ranges."""

_KINDS = {"c": "check", "f": "foreign key", "p": "primary key", "u": "unique", "x": "exclusion", "t": "trigger"}

_CAPABILITIES = Capabilities(family="postgres", native_hash=True, sql_hash=True, activity=True, writable=True)


def open_endpoint(url: EndpointUrl) -> PostgresEndpoint:
    with translated(url):
        return PostgresEndpoint(url, connect(url, "tieout driver"))


class PostgresEndpoint:
    capabilities = _CAPABILITIES

    def __init__(self, url: EndpointUrl, connection: Any) -> None:
        self.url = url
        self._connection = connection
        self.version = str(connection.info.parameter_status("server_version"))

    @property
    def names_schema(self) -> bool:
        return self.url.schema is not None

    def schemas(self) -> list[str]:
        return [schema for (schema,) in self.all(_SCHEMAS, [])]

    def computed(self, table: Table, column: Column, expression: str) -> Column:
        statement = f"SELECT ({expression}\n) FROM {quoting.table(table.name)} LIMIT 0"
        with translated(self.url), closing(connect(self.url, "tieout driver")) as connection:
            connection.execute(set_path(users_path(self.url)))
            described = connection.execute(statement).pgresult
            oid, modifier = described.ftype(0), described.fmod(0)
        type_name, native, category, element, labels = self.all(_TYPE, [modifier, oid])[0]
        raw = RawType(type_name, native.removeprefix("public."), category, modifier, element, tuple(labels or ()))
        return Column(column.name, logical_type(raw))

    def default_schema(self) -> str:
        return self.url.schema or "public"

    def tables(self, schemas: Sequence[str] = ()) -> list[TableName]:
        wanted = list(schemas) or [self.default_schema()]
        return [TableName(schema, name) for schema, name in self.all(_TABLES, [wanted])]

    def describe(self, names: Sequence[TableName]) -> list[Table]:
        sizes = {
            TableName(row[0], row[1]): row[2:]
            for row in self.all(_SIZES, [[n.schema for n in names], [n.name for n in names]])
        }
        for name in names:
            if name not in sizes:
                raise MissingObjectError(
                    f"{self.url.redacted()}: table {name} does not exist", "check its schema and name"
                )
        oids = [size[0] for size in sizes.values()]
        columns = self.columns_of(oids)
        indexes = self._grouped(_INDEXES, oids)
        constraints = self._grouped(_CONSTRAINTS, oids)
        tables = [
            _table(
                name,
                sizes[name],
                columns[sizes[name][0]],
                *(facts[sizes[name][0]] for facts in (indexes, constraints)),
            )
            for name in names
        ]
        histograms = self._histograms(names)
        fresh = [size[2] <= size[3] * _PAGE * _FRESH for size in (sizes[t.name] for t in tables)]
        return [
            replace(t, sampled_keys=_sample(t, histograms[sizes[t.name][0]])) if is_fresh else t
            for t, is_fresh in zip(tables, fresh, strict=True)
        ]

    def columns_of(self, oids: Sequence[int]) -> dict[int, list[Column]]:
        """The columns of tables, views and indexes, by OID."""
        server = f"at {self.url.host}:{self.url.port}"
        found: dict[int, list[Column]] = defaultdict(list)
        for oid, rows in self._grouped(_COLUMNS, list(oids)).items():
            found[oid] = [_column(row, server) for row in rows]
        return found

    def _histograms(self, names: Sequence[TableName]) -> dict[int, dict[str, list[str]]]:
        found: dict[int, dict[str, list[str]]] = defaultdict(dict)
        for oid, column, bounds in self.all(_HISTOGRAMS, [[n.schema for n in names], [n.name for n in names]]):
            found[oid][column] = bounds
        return found

    def reader(self) -> PostgresReader:
        return PostgresReader(self.url)

    @cached_property
    def round_trip(self) -> float:
        return min(repeat(lambda: self.all("SELECT 1", []), number=1, repeat=3))

    def position(self) -> str | None:
        return self.reader().activity()

    def close(self) -> None:
        self._connection.close()

    def _grouped(self, statement: str, oids: list[int]) -> dict[int, list[tuple[Any, ...]]]:
        rows: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
        for oid, *rest in self.all(statement, [oids]):
            rows[oid].append(tuple(rest))
        return rows

    def all(self, statement: str, parameters: list[Any]) -> list[tuple[Any, ...]]:
        with translated(self.url):
            if self._connection.closed:
                self._connection = connect(self.url, "tieout driver")  # the connection was lost
            return list(self._connection.execute(statement, parameters).fetchall())


def _table(
    name: TableName,
    size: tuple[Any, ...],
    columns: list[Column],
    indexes: list[tuple[Any, ...]],
    constraints: list[tuple[Any, ...]],
) -> Table:
    _, estimate, size_bytes, pages, relation_kind = size
    described = tuple(columns)
    known = tuple(
        Index(index, tuple(names), bool(unique), bool(primary))
        for index, unique, primary, names in indexes
        # An index on an expression has a column without a name.
        if None not in names
    )
    # A table that was never analysed, or is partitioned, has no estimate.
    rows = int(estimate) if estimate is not None and estimate > 0 and relation_kind == "r" else None
    if rows and pages:
        # As the planner does: the last count, scaled to the current size.
        rows = int(rows * max(1.0, size_bytes / (pages * _PAGE)))
    return Table(
        name,
        described,
        choose_key(described, known),
        known,
        tuple(Constraint(c, _KINDS.get(kind, kind), tuple(names or ()), text) for c, kind, text, names in constraints),
        rows,
        int(size_bytes / rows) if rows else None,
    )


def _sample(table: Table, histograms: dict[str, list[str]]) -> tuple[str, ...]:
    if len(table.key) != 1 or table.column(table.key[0]).type.name is not TypeName.INTEGER:
        return ()
    return tuple(histograms.get(table.key[0], ()))


def _column(row: tuple[Any, ...], server: str) -> Column:
    (name, type_name, native, category, modifier, element, labels, nullable, generated, default) = row[:10]
    collation, provider, deterministic, version, locale, database_version, database_locale, operators = row[10:]
    # Most sessions have public in their search_path, and see the name without it.
    shown = native.removeprefix("public.")
    raw = RawType(type_name, shown, category, modifier, element, tuple(labels or ()))
    if provider == "d":
        collation, version, locale = database_locale, database_version, database_locale
    ordered = None
    if collation is not None:
        # By its locale: users' collations on two servers may have one name and different locales.
        bare = locale in BY_CODE_POINT
        # Without a version nobody knows whether two servers sort alike, so the order is valid on this server only.
        ordered = locale if bare else f"{locale}:{version or server}" if deterministic else None
    order = order_of(raw, ordered)
    return Column(name, logical_type(raw), nullable, generated, default, collation, None, order, operators)
