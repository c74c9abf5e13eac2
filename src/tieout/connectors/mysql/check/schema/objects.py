"""The tables and views of a database, and the session that checks their definitions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.server_kind import ServerKind
from tieout.connectors.mysql.session import MySQLSession
from tieout.connectors.protocols.check import Inspection, SchemaFailure, StatementError
from tieout.connectors.sql.session import Purpose
from tieout.model.failures import FailureKind
from tieout.model.tables import TableName

_OBJECTS = """
SELECT t.table_schema, t.table_name, t.table_type, t.engine, t.table_comment, v.view_definition, v.security_type
FROM information_schema.tables t
LEFT JOIN information_schema.views v ON v.table_schema = t.table_schema AND v.table_name = t.table_name
WHERE t.table_schema IN ({}) AND t.table_type IN ('BASE TABLE', 'SYSTEM VERSIONED', 'VIEW') ORDER BY 1, 2"""


_SETTINGS = {
    ServerKind.MARIADB: "lock_wait_timeout = 5, max_statement_time = 600",
    ServerKind.MYSQL: "lock_wait_timeout = 5, max_execution_time = 600000, information_schema_stats_expiry = 0",
    ServerKind.TIDB: "max_execution_time = 600000",
}


class SchemaSession(MySQLSession):
    """Asks about definitions: changes nothing, and does not wait for locks."""

    def __init__(self, url: EndpointUrl, server_kind: ServerKind) -> None:
        super().__init__(url, Purpose.READ, server_kind, _SETTINGS[server_kind])
        self.server_kind = server_kind
        try:
            self.allow("READ ONLY")
        except BaseException:
            self.close()
            raise

    def about(self, statement: str, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """Rows of a statement, with these names in place of {}."""
        return self.rows(statement.format(", ".join(["%s"] * len(names))), names) if names else []

    def allow(self, access: str) -> None:
        # TiDB knows the statement, and refuses it.
        if self.server_kind is not ServerKind.TIDB:
            self.execute(f"SET SESSION TRANSACTION {access}")

    def fails_to_compile(self, query: str) -> StatementError | None:
        """PREPARE runs nothing; EXPLAIN would run what it takes for constant, functions of users included.

        A read-only session may not even prepare a query that takes from a sequence.
        """
        self.allow("READ WRITE")
        try:
            return self.error_of("PREPARE tieout FROM %s", [query])
        finally:
            self.allow("READ ONLY")


@dataclass(frozen=True)
class Relation:
    """A table or a view. `reads` is the query of a view, with the full names of tables."""

    name: TableName
    engine: str | None
    is_view: bool
    reads: str
    invoker: bool
    inspection: Inspection

    @property
    def is_readable(self) -> bool:
        """Whether it is a table that its engine can open."""
        return not self.is_view and self.engine is not None


def relations(
    session: SchemaSession, schemas: Sequence[str], names: Collection[TableName] | None
) -> dict[TableName, Relation]:
    """All tables and views of the schemas, or those of these names and the views that read them."""
    found = {}
    for schema, name, kind, engine, comment, query, security in session.about(_OBJECTS, schemas):
        known = TableName(schema, name)
        is_view = kind == "VIEW"
        inspection = Inspection(known, "view" if is_view else None)
        inspection.looked_at["definitions"] += 1
        if not is_view and engine is None:
            inspection.failures.append(SchemaFailure(FailureKind.MISSING_REFERENCE, {"reason": comment}))
        found[known] = Relation(known, engine, is_view, query or "", security == "INVOKER", inspection)
    if names is None:
        return found
    chosen = set(names) & found.keys()
    while True:
        quoted = [session.dialect.table(name) for name in chosen]
        more = {name for name, view in found.items() if any(each in view.reads for each in quoted)} - chosen
        if not more:
            return {name: relation for name, relation in found.items() if name in chosen}
        chosen |= more
