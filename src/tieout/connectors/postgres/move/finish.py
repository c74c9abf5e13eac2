"""Finishing a move on PostgreSQL: sequences, foreign keys, statistics, and what a database has besides rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.check.catalog import constraints_of
from tieout.connectors.postgres.check.constraint_query import PostgresConstraints
from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.connectors.postgres.endpoint import PostgresEndpoint, open_endpoint
from tieout.connectors.postgres.move.sequences import references_of
from tieout.connectors.protocols.finish import (
    CHECK,
    EXCLUSION,
    INDEX,
    PRIMARY,
    UNIQUE,
    DatabaseObject,
    Definition,
    Orphans,
)
from tieout.connectors.sql.ddl import TABLE, Reference
from tieout.connectors.sql.orphans import orphans
from tieout.model.constraints import ConstraintInfo, ConstraintKind, Enforcement
from tieout.model.finish import Counter, DisabledTrigger
from tieout.model.moves import Fence
from tieout.model.tables import Table, TableName

Run = Callable[[Fence, TableName, Sequence[str]], None]

# Sequences of identities, those that a column owns, and those that its default uses.
_SEQUENCES = """
WITH own AS (
  SELECT d.refobjsubid::int AS attnum, d.objid AS seq FROM pg_depend d
  WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = %s::regclass
    AND d.refobjsubid > 0 AND d.deptype IN ('i', 'a')
  UNION
  SELECT f.adnum, x.refobjid FROM pg_attrdef f JOIN pg_depend x ON x.classid = 'pg_attrdef'::regclass
    AND x.objid = f.oid AND x.refclassid = 'pg_class'::regclass WHERE f.adrelid = %s::regclass)
SELECT a.attname, n.nspname, s.relname, q.seqincrement, q.seqmin, q.seqmax, q.seqcycle,
  a.atttypid IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype, 'numeric'::regtype)
FROM own o JOIN pg_class s ON s.oid = o.seq AND s.relkind = 'S' JOIN pg_namespace n ON n.oid = s.relnamespace
JOIN pg_sequence q ON q.seqrelid = s.oid
JOIN pg_attribute a ON a.attrelid = %s::regclass AND a.attnum = o.attnum ORDER BY a.attnum, 2"""

_CHILDREN = """
SELECT DISTINCT n.nspname, t.relname FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid
JOIN pg_namespace n ON n.oid = t.relnamespace
WHERE c.contype = 'f' AND c.conparentid = 0 AND c.confrelid = %s::regclass"""

_PARTITIONED = """
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'p'"""

_DISABLED = """
SELECT t.tgname, c.conname FROM pg_trigger t LEFT JOIN pg_constraint c ON c.oid = t.tgconstraint
WHERE t.tgrelid = %s::regclass AND t.tgenabled IN ('D', 'R') ORDER BY c.conname, t.tgname"""

_INDEXES = """
SELECT c.relname, i.indisprimary, i.indisunique, i.indisexclusion, i.indisvalid,
  regexp_replace(pg_get_indexdef(i.indexrelid), '^CREATE (UNIQUE )?INDEX .* USING ', ''),
  (SELECT array_agg(coalesce(a.attname, pg_get_indexdef(i.indexrelid, k.place::int, false)) ORDER BY k.place)
   FROM unnest(i.indkey) WITH ORDINALITY AS k(attnum, place)
   LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum AND k.attnum <> 0),
  m.amname = 'btree' AND i.indpred IS NULL AND i.indexprs IS NULL AND i.indnkeyatts = i.indnatts
    AND NOT EXISTS (SELECT FROM unnest(i.indoption) AS o(bits) WHERE o.bits <> 0)
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
WHERE i.indrelid = %s::regclass ORDER BY c.relname"""

_CHECKS = """
SELECT c.conname, pg_get_constraintdef(c.oid) FROM pg_constraint c
WHERE c.conrelid = %s::regclass AND c.contype = 'c' ORDER BY c.conname"""

# Objects of extensions come with the extension.
_NOT_OF_EXTENSION = """NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = {oid} AND d.deptype = 'e')"""

_IN_SCHEMAS = f"""
SELECT CASE c.relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'f' THEN 'foreign table'
  WHEN 'c' THEN 'type' ELSE 'table' END, n.nspname, c.relname
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = ANY(%s) AND c.relkind IN ('v', 'm', 'r', 'p', 'f', 'c') AND NOT c.relispartition
  AND {_NOT_OF_EXTENSION.format(oid="c.oid")}
UNION ALL
SELECT CASE p.prokind WHEN 'p' THEN 'procedure' WHEN 'a' THEN 'aggregate' ELSE 'function' END, n.nspname,
  p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')'
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = ANY(%s) AND {_NOT_OF_EXTENSION.format(oid="p.oid")}
UNION ALL
SELECT CASE t.typtype WHEN 'd' THEN 'domain' ELSE 'type' END, n.nspname, t.typname
FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
WHERE n.nspname = ANY(%s) AND t.typtype IN ('e', 'd', 'r') AND {_NOT_OF_EXTENSION.format(oid="t.oid")}
UNION ALL
SELECT 'collation', n.nspname, c.collname FROM pg_collation c JOIN pg_namespace n ON n.oid = c.collnamespace
WHERE n.nspname = ANY(%s) AND {_NOT_OF_EXTENSION.format(oid="c.oid")}
UNION ALL
SELECT 'operator', n.nspname, o.oid::regoperator::text FROM pg_operator o JOIN pg_namespace n ON n.oid = o.oprnamespace
WHERE n.nspname = ANY(%s) AND {_NOT_OF_EXTENSION.format(oid="o.oid")}
UNION ALL
SELECT 'text search configuration', n.nspname, c.cfgname FROM pg_ts_config c
JOIN pg_namespace n ON n.oid = c.cfgnamespace
WHERE n.nspname = ANY(%s) AND {_NOT_OF_EXTENSION.format(oid="c.oid")}
UNION ALL
SELECT 'event trigger', '', evtname FROM pg_event_trigger e WHERE {_NOT_OF_EXTENSION.format(oid="e.oid")}
UNION ALL
SELECT 'foreign server', '', srvname FROM pg_foreign_server s WHERE {_NOT_OF_EXTENSION.format(oid="s.oid")}
UNION ALL
SELECT 'default privileges', coalesce(n.nspname, ''), a.defaclrole::regrole || ' on ' || CASE a.defaclobjtype
  WHEN 'r' THEN 'tables' WHEN 'S' THEN 'sequences' WHEN 'f' THEN 'routines' WHEN 'T' THEN 'types' ELSE 'schemas' END
FROM pg_default_acl a LEFT JOIN pg_namespace n ON n.oid = a.defaclnamespace
WHERE a.defaclnamespace = 0 OR n.nspname = ANY(%s)
UNION ALL
SELECT 'extension', '', extname FROM pg_extension WHERE extname <> 'plpgsql'
ORDER BY 1, 2, 3"""

# Privileges on whatever is not a moved table: those of its owner, and of everybody by default, have no entry.
_OTHER_GRANTS = f"""
SELECT coalesce(r.rolname, 'public'), g.schema, g.name, g.privilege_type FROM (
  SELECT x.grantee, n.nspname AS schema, '' AS name, x.privilege_type
  FROM pg_namespace n, aclexplode(n.nspacl) AS x WHERE n.nspname = ANY(%s) AND x.grantee <> n.nspowner
  UNION ALL
  SELECT x.grantee, n.nspname, c.relname, x.privilege_type
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, aclexplode(c.relacl) AS x
  WHERE n.nspname = ANY(%s) AND c.relkind IN ('v', 'm', 'S', 'f') AND x.grantee <> c.relowner
    AND {_NOT_OF_EXTENSION.format(oid="c.oid")}
  UNION ALL
  SELECT x.grantee, n.nspname, p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')', x.privilege_type
  FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace, aclexplode(p.proacl) AS x
  WHERE n.nspname = ANY(%s) AND x.grantee NOT IN (0, p.proowner) AND {_NOT_OF_EXTENSION.format(oid="p.oid")}
  UNION ALL
  SELECT x.grantee, n.nspname, t.typname, x.privilege_type
  FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace, aclexplode(t.typacl) AS x
  WHERE n.nspname = ANY(%s) AND x.grantee NOT IN (0, t.typowner) AND {_NOT_OF_EXTENSION.format(oid="t.oid")}
  UNION ALL
  SELECT x.grantee, '', '', x.privilege_type FROM pg_database d, aclexplode(d.datacl) AS x
  WHERE d.datname = current_database() AND x.grantee NOT IN (0, d.datdba)) AS g
LEFT JOIN pg_roles r ON r.oid = g.grantee ORDER BY 1, 2, 3, 4"""

_FREE_SEQUENCES = f"""
SELECT n.nspname, s.relname, q.seqincrement FROM pg_class s JOIN pg_namespace n ON n.oid = s.relnamespace
JOIN pg_sequence q ON q.seqrelid = s.oid
WHERE s.relkind = 'S' AND n.nspname = ANY(%s) AND {_NOT_OF_EXTENSION.format(oid="s.oid")} ORDER BY 1, 2"""

_OF_TABLE = """
SELECT 'trigger', t.tgname, pg_get_triggerdef(t.oid) FROM pg_trigger t
WHERE t.tgrelid = %s::regclass AND NOT t.tgisinternal AND t.tgparentid = 0
UNION ALL
SELECT 'rule', r.rulename, NULL FROM pg_rewrite r WHERE r.ev_class = %s::regclass
UNION ALL
SELECT 'policy', p.polname, NULL FROM pg_policy p WHERE p.polrelid = %s::regclass
UNION ALL
SELECT 'row security', 'enabled', NULL FROM pg_class c WHERE c.oid = %s::regclass AND c.relrowsecurity
UNION ALL
SELECT 'statistics', x.stxname, NULL FROM pg_statistic_ext x WHERE x.stxrelid = %s::regclass
ORDER BY 1, 2"""

_GRANTS = """
SELECT coalesce(r.rolname, 'public'), g.privilege_type, g.attname FROM (
  SELECT x.grantee, x.privilege_type, NULL::name AS attname FROM pg_class c, aclexplode(c.relacl) AS x
  WHERE c.oid = %s::regclass AND x.grantee <> c.relowner
  UNION ALL
  SELECT x.grantee, x.privilege_type, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid,
    aclexplode(a.attacl) AS x
  WHERE c.oid = %s::regclass AND NOT a.attisdropped AND x.grantee <> c.relowner) AS g
LEFT JOIN pg_roles r ON r.oid = g.grantee ORDER BY 1, 2, 3"""

_COMMENTS = """
SELECT coalesce(a.attname, ''), d.description FROM pg_description d
LEFT JOIN pg_attribute a ON a.attrelid = d.objoid AND a.attnum = d.objsubid AND d.objsubid > 0
WHERE d.classoid = 'pg_class'::regclass AND d.objoid = %s::regclass ORDER BY d.objsubid"""

_DIALECT = PostgresDialect()


@dataclass
class PostgresFinish:
    """A Catalog, and with `run` a TargetFinish. `run` runs statements under the mover's fence."""

    url: EndpointUrl
    run: Run | None = None

    @cached_property
    def _endpoint(self) -> PostgresEndpoint:
        return open_endpoint(self.url)

    def close(self) -> None:
        if "_endpoint" in self.__dict__:
            self._endpoint.close()

    def objects(self, schemas: Sequence[str], tables: Sequence[TableName]) -> list[DatabaseObject]:
        names = list(schemas)
        found = [DatabaseObject(*row) for row in self._all(_IN_SCHEMAS, [names] * 7)]
        for holder, schema, name, privilege in self._all(_OTHER_GRANTS, [names] * 4):
            found.append(DatabaseObject("grant", schema, privilege, TableName(schema, name), holder=holder))
        counted = {name for table in tables for _, _, name, *_ in self._sequences(table)}
        for schema, name, increment in self._all(_FREE_SEQUENCES, [names]):
            full = TableName(schema, name)
            if full not in counted:
                following = self._next(_DIALECT.table(full), increment)
                found.append(DatabaseObject("sequence", schema, name, next=following))
        for table in tables:
            found += self._of_table(table)
        return found

    def _of_table(self, table: TableName) -> list[DatabaseObject]:
        quoted, schema = _DIALECT.table(table), table.schema
        found = [DatabaseObject(kind, schema, name, table) for kind, name, _ in self._all(_OF_TABLE, [quoted] * 5)]
        for holder, privilege, column in self._all(_GRANTS, [quoted] * 2):
            what = f"{privilege} ({column})" if column else privilege
            found.append(DatabaseObject("grant", schema, what, table, holder=holder))
        for column, text in self._all(_COMMENTS, [quoted]):
            found.append(DatabaseObject("comment", schema, column, table, facts=text))
        return found

    def definitions(self, table: Table) -> list[Definition]:
        quoted = _DIALECT.table(table.name)
        found = []
        for name, primary, unique, excluding, valid, rule, columns, plain in self._all(_INDEXES, [quoted]):
            if valid:  # the build of another one did not finish
                kind = PRIMARY if primary else EXCLUSION if excluding else UNIQUE if unique else INDEX
                found.append(Definition(kind, name, tuple(columns), rule, plain and not excluding, rule))
        for name, text in self._all(_CHECKS, [quoted]):
            found.append(Definition(CHECK, name, (), text.removesuffix(" NOT VALID"), False, text))
        return found

    def references(self, table: Table) -> list[Reference]:
        return list(references_of(self._endpoint.all, _DIALECT.table(table.name)))

    def following(self, table: Table) -> Mapping[str, int]:
        found: dict[str, int] = {}
        for column, sequence, _, increment, *_ in self._sequences(table.name):
            number = self._next(sequence, increment)
            far = max if increment > 0 else min
            found[column] = far(found.get(column, number), number)
        return found

    def blind_spots(self) -> list[str]:
        return []  # anybody may read the catalog

    def count_on(self, fence: Fence, table: Table, wanted: Mapping[str, int]) -> list[Counter]:
        counters = []
        for column, sequence, _, increment, least, most, cycles, is_number in self._sequences(table.name):
            current = self._next(sequence, increment)
            # A cycling sequence repeats numbers on purpose: those in the table say nothing about the next one.
            used = self._furthest(table.name, column, increment) if is_number and not cycles else None
            number = _following(current, wanted.get(column), used, increment)
            problem = None
            statement = _set(sequence, number, increment, called=False)
            if not least <= number <= most:
                end = most if increment > 0 else least
                problem = f"its next number, {number}, is beyond the end of the sequence {sequence} ({end})"
                statement = _set(sequence, end, increment, called=True)
                number = end
            if number != current or problem:
                assert self.run is not None
                self.run(fence, table.name, [statement])
            counters.append(Counter(str(table.name), column, None if problem else number, problem))
        return counters

    def foreign_keys(self, tables: Sequence[Table]) -> list[ConstraintInfo]:
        names = dict.fromkeys(table.name for table in tables)
        for table in tables:
            rows = self._all(_CHILDREN, [_DIALECT.table(table.name)])
            names.update(dict.fromkeys(TableName(*row) for row in rows))
        described = self._endpoint.describe(list(names))
        found = [constraint for table in described for constraint in constraints_of(self._endpoint, table)]
        moved = {table.name for table in tables}
        return [
            key
            for key in found
            if key.kind is ConstraintKind.FOREIGN_KEY
            and (key.table.name in moved or (key.reference is not None and key.reference.parent in moved))
        ]

    def validate(self, fence: Fence, key: ConstraintInfo) -> None:
        if key.enforcement is Enforcement.NOT_VALID:
            assert self.run is not None
            self.run(fence, key.table.name, [f"ALTER TABLE {TABLE} VALIDATE CONSTRAINT {_quoted(key.name)}"])

    def orphans(self, key: ConstraintInfo) -> Orphans:
        partitioned = frozenset(TableName(*row) for row in self._all(_PARTITIONED, []))
        return orphans(PostgresConstraints(partitioned), key, lambda statement: self._all(statement, []))

    def disabled_triggers(self, tables: Sequence[TableName]) -> list[DisabledTrigger]:
        return [
            DisabledTrigger(str(table), name, constraint)
            for table in tables
            for name, constraint in self._all(_DISABLED, [_DIALECT.table(table)])
        ]

    def analyze(self, fence: Fence, table: TableName) -> None:
        assert self.run is not None
        self.run(fence, table, [f"ANALYZE {TABLE}"])

    def warnings(self) -> list[str]:
        return []

    def _all(self, statement: str, parameters: list[Any]) -> list[tuple[Any, ...]]:
        return self._endpoint.all(statement, parameters)

    def _sequences(self, table: TableName) -> list[tuple[Any, ...]]:
        """Column, quoted name, name, increment, least, most, whether it cycles, whether the column is a number."""
        rows = self._all(_SEQUENCES, [_DIALECT.table(table)] * 3)
        names = [TableName(schema, name) for _, schema, name, *_ in rows]
        return [(row[0], _DIALECT.table(name), name, *row[3:]) for row, name in zip(rows, names, strict=True)]

    def _next(self, sequence: str, increment: int) -> int:
        ((last, called),) = self._all(f"SELECT last_value, is_called FROM {sequence}", [])
        return int(last) + increment if called else int(last)

    def _furthest(self, table: TableName, column: str, increment: int) -> int | None:
        furthest = "ceil(max({}))" if increment > 0 else "floor(min({}))"
        name = furthest.format(_quoted(column))
        ((number,),) = self._all(f"SELECT {name}::numeric FROM {_DIALECT.table(table)}", [])
        # NaN and infinity are numbers of PostgreSQL, and no counter reaches them.
        return int(number) if number is not None and number.is_finite() else None


def _quoted(name: str) -> str:
    return quoting.name(name)


def _following(current: int, wanted: int | None, used: int | None, increment: int) -> int:
    """The next number: one that this sequence, started at `wanted`, would reach, and beyond those that are used."""
    up = increment > 0
    number = current if wanted is None else max(current, wanted) if up else min(current, wanted)
    if used is None or (number > used if up else number < used):
        return number
    return number + ((used - number) // increment + 1) * increment


def _set(sequence: str, number: int, increment: int, *, called: bool) -> str:
    """Sets a sequence, but never back: somebody may have used it since it was read."""
    further = "<" if increment > 0 else ">"
    following = f"CASE WHEN is_called THEN last_value::numeric + {increment:d} ELSE last_value END"
    goal = number + increment if called else number
    return (
        f"SELECT setval({quoting.text(sequence)}, {number:d}, {str(called).lower()}) FROM {sequence} "
        f"WHERE {following} {further} {goal:d}"
    )
