"""The tables, views and routines of a database, and what the catalog says of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tieout.connectors.mysql.check.schema.session import SchemaSession
from tieout.connectors.protocols.check import Defect, Inspection
from tieout.model.failures import FailureKind
from tieout.model.tables import TableName

_OBJECTS = """
SELECT t.table_schema, t.table_name, t.table_type, t.engine, t.table_comment, v.view_definition, v.security_type
FROM information_schema.tables t
LEFT JOIN information_schema.views v ON v.table_schema = t.table_schema AND v.table_name = t.table_name
WHERE t.table_schema IN ({}) AND t.table_type IN ('BASE TABLE', 'SYSTEM VERSIONED', 'VIEW') ORDER BY 1, 2"""


@dataclass(frozen=True)
class Relation:
    """A table or a view. `reads` is the query of a view, every table in it by its full name."""

    name: TableName
    engine: str | None
    is_view: bool
    reads: str
    invoker: bool
    inspection: Inspection

    @property
    def is_readable(self) -> bool:
        """A table that its engine has."""
        return not self.is_view and self.engine is not None


def relations(
    session: SchemaSession, schemas: Sequence[str], names: Collection[TableName] | None
) -> dict[TableName, Relation]:
    """All of the schemas, or those of these names with the views that read them."""
    found = {}
    for schema, name, kind, engine, comment, query, security in session.about(_OBJECTS, schemas):
        known = TableName(schema, name)
        is_view = kind == "VIEW"
        inspection = Inspection(known, "view" if is_view else None)
        inspection.looked_at["definitions"] += 1
        if not is_view and engine is None:
            inspection.defects.append(Defect(FailureKind.MISSING_REFERENCE, {"reason": comment}))
        found[known] = Relation(known, engine, is_view, query or "", security == "INVOKER", inspection)
    if names is None:
        return found
    chosen = set(names) & found.keys()
    while True:
        spoken = [session.dialect.table(name) for name in chosen]
        more = {name for name, view in found.items() if any(each in view.reads for each in spoken)} - chosen
        if not more:
            return {name: relation for name, relation in found.items() if name in chosen}
        chosen |= more
