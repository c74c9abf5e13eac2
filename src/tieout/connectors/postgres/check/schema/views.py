"""Views that can't be read any more, or whose columns are others than they say."""

from __future__ import annotations

from collections.abc import Mapping

from tieout.connectors.postgres.check.schema.objects import Relation
from tieout.connectors.postgres.check.schema.session import SchemaSession, spread
from tieout.connectors.protocols.check import Defect, Trouble, troubles
from tieout.model.failures import FailureKind

_TEXTS = "SELECT v.oid, pg_get_viewdef(v.oid) FROM unnest(%s::oid[]) AS v(oid)"

# A query is described with the types that domains are of.
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


def look_at_views(session: SchemaSession, relations: Mapping[int, Relation]) -> None:
    """A rule is planned as it is kept; and its words are parsed anew, which finds columns that a plan does not miss."""
    views = [relation for relation in relations.values() if relation.is_view]
    oids = [view.oid for view in views]
    unwritten = troubles(oids, lambda some: session.trouble(_TEXTS, list(some)))
    texts = dict(session.rows(_TEXTS, [oid for place, oid in enumerate(oids) if place not in unwritten]))
    columns = spread(session.rows(_COLUMNS, oids))
    unread = {row[0] for row in session.rows(_EMPTY, oids)}
    for place, view in enumerate(views):
        view.inspection.looked_at["definitions"] += 1
        if view.oid in unread:
            view.inspection.remarks.append("it was never filled: REFRESH MATERIALIZED VIEW")
        trouble = unwritten.get(place) or _trouble(session, view, str(texts.get(view.oid)), columns.get(view.oid, []))
        if trouble is not None:
            view.inspection.met(trouble, Defect(FailureKind.INVALID_VIEW, {"reason": trouble.message}))


def _trouble(session: SchemaSession, view: Relation, text: str, columns: list[tuple[str, int, str]]) -> Trouble | None:
    found = session.compiled(text)
    if isinstance(found, Trouble):
        return found
    if len(found) != len(columns):
        return Trouble(f"it has {len(columns)} columns, and what it reads has {len(found)}")
    for (_, kind), (name, own_kind, shown) in zip(found, columns, strict=True):
        if kind != own_kind:
            ((real,),) = session.rows("SELECT format_type(%s, NULL)", kind)
            return Trouble(f"its column {name} is of type {shown}, and what it reads gives {real}")
    return session.trouble(f"EXPLAIN SELECT * FROM {view.quoted}")
