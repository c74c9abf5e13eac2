"""Tables that the server can't even plan to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tieout.connectors.postgres.check.schema.objects import Relation
from tieout.connectors.postgres.check.schema.session import SchemaSession
from tieout.connectors.protocols.check import Defect, Trouble, troubles
from tieout.model.failures import FailureKind

_AT_ONCE = 50
"""Each is locked while it is planned."""


def readable(session: SchemaSession, relations: Mapping[int, Relation]) -> dict[int, Relation]:
    """The tables that rows can be read of. After indexes: what is wrong with one of them keeps its table from that."""
    tables = [relation for relation in relations.values() if relation.has_rows and not relation.is_view]
    found: dict[int, Trouble] = {}
    for start in range(0, len(tables), _AT_ONCE):
        some = tables[start : start + _AT_ONCE]
        found |= {some[place].oid: t for place, t in troubles(some, lambda part: _trouble(session, part)).items()}
    for oid, trouble in found.items():
        inspection = relations[oid].inspection
        if trouble.telling and inspection.defects:
            inspection.left_out.append(f"nothing could be computed of its rows: {trouble.message}")
        elif trouble.telling:
            inspection.defects.append(Defect(FailureKind.MISSING_REFERENCE, {"reason": trouble.message}))
    return {table.oid: table for table in tables if not (table.oid in found and found[table.oid].telling)}


def _trouble(session: SchemaSession, tables: Sequence[Relation]) -> Trouble | None:
    return session.trouble("EXPLAIN " + " UNION ALL ".join(f"SELECT 1 FROM ONLY {table.quoted}" for table in tables))
