"""CHECK constraints that the server does not understand any more."""

from __future__ import annotations

from collections.abc import Mapping

from tieout.connectors.postgres.check.schema.objects import Relation
from tieout.connectors.postgres.check.schema.session import SchemaSession
from tieout.connectors.protocols.check import Defect, troubles
from tieout.model.failures import FailureKind

_CHECKS = """
SELECT c.oid, c.conrelid, c.conname FROM pg_constraint c
WHERE c.contype = 'c' AND c.conrelid = ANY(%s::oid[]) ORDER BY c.conname"""

_TEXTS = "SELECT c.oid, pg_get_expr(c.conbin, c.conrelid) FROM pg_constraint c WHERE c.oid = ANY(%s::oid[])"


def look_at_checks(session: SchemaSession, relations: Mapping[int, Relation]) -> None:
    """Whether rows obey them is another check."""
    rows = session.rows(_CHECKS, list(relations))
    oids = [row[0] for row in rows]
    failed = troubles(oids, lambda some: session.trouble(_TEXTS, list(some)))
    texts = dict(session.rows(_TEXTS, [oid for place, oid in enumerate(oids) if place not in failed]))
    for place, (oid, owner, name) in enumerate(rows):
        table = relations[owner]
        table.inspection.looked_at["check constraints"] += 1
        trouble = failed.get(place)
        if trouble is None and oid in texts:
            trouble = session.fails_to_compile(f"SELECT ({texts[oid]}) FROM ONLY {table.quoted}")
        if trouble is not None:
            defect = Defect(FailureKind.MISSING_REFERENCE, {"reason": trouble.message}, constraint=name)
            table.inspection.met(trouble, defect)
