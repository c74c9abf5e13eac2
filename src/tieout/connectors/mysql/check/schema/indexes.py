"""Indexes that the server does not use."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tieout.connectors.mysql.check.schema.objects import Relation
from tieout.connectors.mysql.check.schema.session import SchemaSession
from tieout.connectors.mysql.server_kind import Flavour
from tieout.connectors.protocols.check import Defect, Trouble
from tieout.model.failures import FailureKind
from tieout.model.tables import TableName

_INDEXES = """
SELECT DISTINCT table_schema, table_name, index_name, comment = 'disabled'
FROM information_schema.statistics WHERE table_schema IN ({}) ORDER BY 1, 2, 3"""

_FLAGGED = """
SELECT t.name, i.name FROM information_schema.innodb_sys_indexes i
JOIN information_schema.innodb_sys_tables t ON t.table_id = i.table_id WHERE i.type & 16"""

# As InnoDB writes what is no plain letter.
_ENCODED = re.compile(r"@([0-9a-f]{4})")


def look_at_indexes(session: SchemaSession, schemas: Sequence[str], relations: Mapping[TableName, Relation]) -> None:
    for schema, table, index, disabled in session.about(_INDEXES, schemas):
        relation = relations.get(TableName(schema, table))
        if relation is None:
            continue
        relation.inspection.looked_at["indexes"] += 1
        if disabled:
            details = {"reason": "it is disabled: no writer keeps it up to date, and no reader uses it"}
            relation.inspection.defects.append(Defect(FailureKind.INVALID_INDEX, details, index=index))
    if session.dialect.flavour is Flavour.MARIADB:
        _flagged(session, relations)


def _flagged(session: SchemaSession, relations: Mapping[TableName, Relation]) -> None:
    """What InnoDB found to be corrupt, it says to those who may see processes."""
    rows = session.tried(_FLAGGED)
    for path, index in [] if isinstance(rows, Trouble) else rows:
        schema, _, table = _ENCODED.sub(lambda found: chr(int(found[1], 16)), path).partition("/")
        relation = relations.get(TableName(schema, table))
        if relation is not None:
            details = {"reason": "the engine has marked it as corrupt, and does not read it"}
            relation.inspection.defects.append(Defect(FailureKind.INVALID_INDEX, details, index=index))
