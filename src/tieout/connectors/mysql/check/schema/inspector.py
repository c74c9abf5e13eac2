"""Checks the definitions of a database: which indexes the server does not use, which views it cannot read, and more."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.check.schema.columns import check_columns, check_counters
from tieout.connectors.mysql.check.schema.objects import Relation, SchemaSession, relations
from tieout.connectors.mysql.check.schema.references import check_foreign_keys
from tieout.connectors.mysql.check.schema.routines import check_triggers, routines
from tieout.connectors.mysql.server_kind import ServerKind
from tieout.connectors.protocols.check import Inspection, SchemaFailure, StatementError
from tieout.model.failures import FailureKind
from tieout.model.tables import TableName


def inspect(url: EndpointUrl, server_kind: ServerKind, names: Collection[TableName] | None) -> list[Inspection]:
    """Checks the definitions of these objects and of the views that read them; None: of all objects of the database."""
    schemas = [url.database or ""] if names is None else sorted({name.schema for name in names})
    with closing(SchemaSession(url, server_kind)) as session:
        found = relations(session, schemas, names)
        _check_indexes(session, schemas, found)
        check_foreign_keys(session, schemas, found)
        check_columns(session, schemas, found)
        check_counters(session, schemas, found)
        check_triggers(session, schemas, found)
        _check_views(session, found.values())
        return [*(each.inspection for each in found.values()), *routines(session, schemas, names)]


_INDEXES = """
SELECT DISTINCT table_schema, table_name, index_name, comment = 'disabled'
FROM information_schema.statistics WHERE table_schema IN ({}) ORDER BY 1, 2, 3"""

_FLAGGED = """
SELECT t.name, i.name FROM information_schema.innodb_sys_indexes i
JOIN information_schema.innodb_sys_tables t ON t.table_id = i.table_id WHERE i.type & 16"""

# How InnoDB encodes letters of names beyond the plain ones.
_ENCODED = re.compile(r"@([0-9a-f]{4})")


def _check_indexes(session: SchemaSession, schemas: Sequence[str], relations: Mapping[TableName, Relation]) -> None:
    for schema, table, index, disabled in session.about(_INDEXES, schemas):
        relation = relations.get(TableName(schema, table))
        if relation is None:
            continue
        relation.inspection.looked_at["indexes"] += 1
        if disabled:
            details = {"reason": "it is disabled: writers do not maintain it, and readers do not use it"}
            relation.inspection.failures.append(SchemaFailure(FailureKind.INVALID_INDEX, details, index=index))
    if session.server_kind is ServerKind.MARIADB:
        _flagged(session, relations)


def _flagged(session: SchemaSession, relations: Mapping[TableName, Relation]) -> None:
    """Indexes that InnoDB has marked as corrupt. It shows them only to users with the PROCESS privilege."""
    rows = session.attempt(_FLAGGED)
    for path, index in [] if isinstance(rows, StatementError) else rows:
        schema, _, table = _ENCODED.sub(lambda found: chr(int(found[1], 16)), path).partition("/")
        relation = relations.get(TableName(schema, table))
        if relation is not None:
            details = {"reason": "the engine has marked it as corrupt and does not read it"}
            relation.inspection.failures.append(SchemaFailure(FailureKind.INVALID_INDEX, details, index=index))


_MESSAGE = 3
_DENIED = "denied"


def _check_views(session: SchemaSession, relations: Iterable[Relation]) -> None:
    for view in relations:
        if view.is_view:
            name = session.dialect.table(view.name)
            trouble = session.fails_to_compile(f"SELECT * FROM {name}")
            if trouble is not None:
                explained = _explained(session, view, name, trouble)
                view.inspection.record(
                    explained, SchemaFailure(FailureKind.INVALID_VIEW, {"reason": explained.message})
                )


def _explained(session: SchemaSession, view: Relation, name: str, trouble: StatementError) -> StatementError:
    """The trouble with a view in the words of CHECK TABLE: a query only reports that something is wrong.

    A view with SQL SECURITY INVOKER may fail only because our user lacks privileges.
    """
    rows = session.attempt(f"CHECK TABLE {name}")
    errors = [] if isinstance(rows, StatementError) else [str(row[_MESSAGE]) for row in rows if row[2] == "Error"]
    ours = view.invoker and any(_DENIED in message for message in errors)
    return StatementError(errors[0] if errors else trouble.message, trouble.conclusive and not ours)
