"""Triggers, functions and procedures that refer to tables that are gone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tieout.connectors.mysql.check.schema.bodies import spoken
from tieout.connectors.mysql.check.schema.objects import Relation
from tieout.connectors.mysql.check.schema.session import SchemaSession
from tieout.connectors.protocols.check import Defect, Inspection
from tieout.model.failures import FailureKind
from tieout.model.tables import TableName

_TRIGGERS = """
SELECT event_object_schema, event_object_table, trigger_name, action_statement
FROM information_schema.triggers WHERE event_object_schema IN ({}) ORDER BY 1, 2, 3"""

_ROUTINES = """
SELECT routine_schema, routine_name, LOWER(routine_type), routine_definition
FROM information_schema.routines WHERE routine_schema IN ({}) ORDER BY 1, 2, 3"""

_TABLES = "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema IN ({})"

_UNSEEN = "only what stands under no condition was looked at: the server looks the rest up when it runs"


class _Known:
    """Tables and views by their schemas, asked for when one is first spoken of."""

    def __init__(self, session: SchemaSession) -> None:
        self._session = session
        self._names: dict[str, set[str]] = {}

    def has(self, schema: str, name: str) -> bool:
        if schema not in self._names:
            rows = self._session.about(_TABLES, [schema])
            self._names[schema] = {str(row[1]).casefold() for row in rows}
        return name.casefold() in self._names[schema]


def look_at_triggers(session: SchemaSession, schemas: Sequence[str], relations: Mapping[TableName, Relation]) -> None:
    known = _Known(session)
    for schema, table, name, body in session.about(_TRIGGERS, schemas):
        relation = relations.get(TableName(schema, table))
        if relation is not None:
            relation.inspection.looked_at["triggers"] += 1
            _look_at(known, relation.inspection, schema, body, f"trigger {name}")


def routines(session: SchemaSession, schemas: Sequence[str], names: Collection[TableName] | None) -> list[Inspection]:
    known = _Known(session)
    found = []
    for schema, name, what, body in session.about(_ROUTINES, schemas):
        inspection = Inspection(TableName(schema, name), what)
        if names is not None and inspection.name not in names:
            continue
        inspection.looked_at["definitions"] += 1
        if body is None:
            inspection.left_out.append("its body is not shown to this user: GRANT SHOW CREATE ROUTINE")
        else:
            _look_at(known, inspection, schema, body, None)
        found.append(inspection)
    return found


def _look_at(known: _Known, inspection: Inspection, schema: str, body: str, place: str | None) -> None:
    said = spoken(body)
    missing = sorted(f"{db or schema}.{name}" for db, name in said.tables if not known.has(db or schema, name))
    if missing:
        details = {"refers_to": f"table {', '.join(missing)}, which is gone"}
        inspection.defects.append(Defect(FailureKind.MISSING_REFERENCE, details, place=place))
    if not said.complete:
        inspection.remarks.append(f"{place}: {_UNSEEN}" if place else _UNSEEN)
