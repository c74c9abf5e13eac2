"""Views that can no longer be read, or whose columns differ from those of their queries; functions and procedures that
no longer compile.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.check.schema.objects import Relation, SchemaSession, spread
from tieout.connectors.protocols.check import Inspection, SchemaFailure, StatementError, statement_errors
from tieout.model.failures import FailureKind
from tieout.model.tables import TableName

# The objects of extensions are not the user's to repair.
_ROUTINES = """
SELECT p.oid, n.nspname, format('%%s(%%s)', p.proname, pg_get_function_identity_arguments(p.oid)), p.prokind::text,
  l.lanname, (SELECT format('%%I.%%I', s.nspname, v.proname) FROM pg_proc v
   JOIN pg_namespace s ON s.oid = v.pronamespace WHERE v.oid = l.lanvalidator),
  (SELECT substring(c FROM 13) FROM unnest(p.proconfig) AS c WHERE c LIKE 'search_path=%%')
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace LEFT JOIN pg_language l ON l.oid = p.prolang
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)' AND p.prokind <> 'a'
  AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
  AND (%s::text[] IS NULL OR n.nspname = ANY(%s))
ORDER BY 2, 3"""

_SCHEMAS = """
SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
ORDER BY nspname <> 'public', 1"""

_OIDS = "pg_catalog.oid[]"
_WHAT = {"p": "procedure", "w": "window function"}
_COMPILED = ("sql", "plpgsql")


def routines(session: SchemaSession, names: Collection[TableName] | None) -> list[Inspection]:
    """Compiles each with its language's validator. PL/pgSQL looks up what its statements name only when they run."""
    schemas = None if names is None else sorted({name.schema for name in names})
    found = [
        (row, Inspection(TableName(row[1], row[2]), _WHAT.get(row[3], "function")))
        for row in session.rows(_ROUTINES, [schemas, schemas])
    ]
    wanted = [(row, each) for row, each in found if names is None or each.name in names]
    everywhere = [schema for (schema,) in session.rows(_SCHEMAS)]
    for language in _COMPILED:
        some = [(row, each) for row, each in wanted if row[4] == language]
        failed = statement_errors(some, lambda part: _compile_trouble(session, [row for row, _ in part], everywhere))
        for place, (row, inspection) in enumerate(some):
            inspection.looked_at[f"compiled by {language}"] += 1
            if place in failed:
                trouble = _in_its_place(session, row, everywhere)
                if trouble is not None:
                    inspection.record(
                        trouble, SchemaFailure(FailureKind.MISSING_REFERENCE, {"reason": trouble.message})
                    )
    for row, inspection in wanted:
        if row[4] not in _COMPILED:
            inspection.left_out.append(f"functions in {row[4]} are not compiled")
    return [inspection for _, inspection in wanted]


def _compile_trouble(
    session: SchemaSession, rows: Sequence[tuple[Any, ...]], path: Sequence[str]
) -> StatementError | None:
    """Callers may have any search_path, so only a name that exists in no schema is missing."""
    with session.setting(search_path=quoting.names(path)):
        validator, oids = rows[0][5], f"pg_catalog.unnest(%s::{_OIDS})"
        return session.error_of(f"SELECT {validator}(p.oid) FROM {oids} AS p(oid)", [[row[0] for row in rows]])


def _in_its_place(session: SchemaSession, row: tuple[Any, ...], everywhere: Sequence[str]) -> StatementError | None:
    """Compiles once more, with the function's own search_path, or with its schema first."""
    if row[6] is None:
        return _compile_trouble(session, [row], [row[1], *everywhere])
    with session.setting(search_path=row[6]):
        return session.error_of(f"SELECT {row[5]}(%s::pg_catalog.oid)", [row[0]])


_TEXTS = "SELECT v.oid, pg_get_viewdef(v.oid) FROM unnest(%s::oid[]) AS v(oid)"

# The server describes the columns of a query with the base types of domains.
_COLUMNS = """
WITH RECURSIVE base AS (
  SELECT a.attrelid, a.attnum, a.attname, a.atttypid AS typid
  FROM pg_attribute a WHERE a.attrelid = ANY(%s::oid[]) AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL
  SELECT b.attrelid, b.attnum, b.attname, t.typbasetype
  FROM base b JOIN pg_type t ON t.oid = b.typid WHERE t.typtype = 'd')
SELECT b.attrelid, b.attname, b.typid::int8, format_type(b.typid, NULL)
FROM base b LEFT JOIN pg_type t ON t.oid = b.typid WHERE t.typtype IS DISTINCT FROM 'd' ORDER BY b.attrelid, b.attnum"""

_EMPTY = "SELECT c.oid FROM pg_class c WHERE c.oid = ANY(%s::oid[]) AND NOT c.relispopulated"


def check_views(session: SchemaSession, relations: Mapping[int, Relation]) -> None:
    """Plans the stored rule, and parses the definition again, which finds missing columns that a plan does not need."""
    views = [relation for relation in relations.values() if relation.is_view]
    oids = [view.oid for view in views]
    unwritten = statement_errors(oids, lambda some: session.error_of(_TEXTS, [list(some)]))
    texts = dict(session.rows(_TEXTS, [[oid for place, oid in enumerate(oids) if place not in unwritten]]))
    columns = spread(session.rows(_COLUMNS, [oids]))
    unread = {row[0] for row in session.rows(_EMPTY, [oids])}
    for place, view in enumerate(views):
        view.inspection.looked_at["definitions"] += 1
        if view.oid in unread:
            view.inspection.remarks.append("it was never populated: REFRESH MATERIALIZED VIEW")
        trouble = unwritten.get(place) or _trouble(session, view, str(texts.get(view.oid)), columns.get(view.oid, []))
        if trouble is not None:
            view.inspection.record(trouble, SchemaFailure(FailureKind.INVALID_VIEW, {"reason": trouble.message}))


def _trouble(
    session: SchemaSession, view: Relation, text: str, columns: list[tuple[str, int, str]]
) -> StatementError | None:
    found = session.compiled(text)
    if isinstance(found, StatementError):
        return found
    if len(found) != len(columns):
        return StatementError(f"it has {len(columns)} columns, and its query returns {len(found)}")
    for (_, kind), (name, own_kind, shown) in zip(found, columns, strict=True):
        if kind != own_kind:
            ((real,),) = session.rows("SELECT format_type(%s, NULL)", [kind])
            return StatementError(f"its column {name} has type {shown}, and its query returns {real}")
    return session.error_of(f"EXPLAIN SELECT * FROM {view.quoted}")
