"""All that is looked at of the definitions of an SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from contextlib import closing

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.check import Defect, Inspection
from tieout.connectors.sqlite.check.schema.objects import Relation, relations, wanted
from tieout.connectors.sqlite.check.schema.tables import look_at_foreign_keys, look_at_indexes, look_at_table
from tieout.connectors.sqlite.check.schema.triggers import look_at_triggers
from tieout.connectors.sqlite.session import SQLiteSession, schema_session
from tieout.model.failures import FailureKind
from tieout.model.tables import TableName


def inspect(url: EndpointUrl, names: Collection[TableName] | None) -> list[Inspection]:
    """The definitions of these tables and of the views that read them; None: of all."""
    with closing(schema_session(url)) as session:
        everything = relations(session)
        chosen = wanted(everything, names)
        for relation in chosen:
            _look_at(session, relation, everything)
        look_at_triggers([relation for relation in chosen if relation.known], everything)
        return [relation.inspection for relation in chosen]


def _look_at(session: SQLiteSession, relation: Relation, everything: dict[str, Relation]) -> None:
    if not relation.known:
        details = {
            "reason": f"SQLite {sqlite3.sqlite_version} does not understand its definition",
            "definition": relation.statement,
        }
        relation.inspection.defects.append(Defect(FailureKind.ENGINE_FINDING, details))
    elif relation.is_view:
        relation.inspection.looked_at["definitions"] += 1
        trouble = session.trouble(f"EXPLAIN SELECT * FROM {relation.quoted}")
        if trouble is not None:
            relation.inspection.met(trouble, Defect(FailureKind.INVALID_VIEW, {"reason": trouble.message}))
    else:
        relation.inspection.looked_at["definitions"] += 1
        look_at_table(session, relation)
        look_at_indexes(session, relation)
        look_at_foreign_keys(session, relation, everything)
