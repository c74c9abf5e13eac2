"""Repairs what a check found in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.connection import users_path
from tieout.connectors.postgres.dialect import PostgresChangeDialect
from tieout.connectors.postgres.errors import translated
from tieout.connectors.postgres.session import REPAIR_LOCK_WAIT, repair_session
from tieout.connectors.postgres.writer import PostgresWriter
from tieout.connectors.protocols.repair import (
    Parent,
    Refused,
    Row,
    Suspension,
    Trigger,
    TryAgain,
    conflict_is_refusal,
    duplicates_query,
    named_sequence,
    quarantine_definition,
    quarantine_table,
)
from tieout.connectors.sql import dml
from tieout.errors import AccessError
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import LogicalType, TypeName

_DIALECT = PostgresChangeDialect()

_NO_INDEX = ("enable_indexscan", "enable_indexonlyscan", "enable_bitmapscan")

_UNFINISHED = """
SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
JOIN pg_namespace n ON n.oid = t.relnamespace
WHERE n.nspname = %s AND t.relname = %s AND NOT i.indisvalid AND starts_with(c.relname, %s || '_ccnew')"""

_PARENT = """
SELECT q.nspname, p.relname,
  (SELECT array_agg(a.attname ORDER BY k.place) FROM unnest(c.conkey) WITH ORDINALITY AS k(attnum, place)
   JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.attnum),
  (SELECT array_agg(a.attname ORDER BY k.place) FROM unnest(c.confkey) WITH ORDINALITY AS k(attnum, place)
   JOIN pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = k.attnum)
FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid JOIN pg_namespace n ON n.oid = t.relnamespace
JOIN pg_class p ON p.oid = c.confrelid JOIN pg_namespace q ON q.oid = p.relnamespace
WHERE c.contype = 'f' AND n.nspname = %s AND t.relname = %s AND c.conname = %s"""

# A partition may have triggers of its own. Which ones run depends on the session's session_replication_role.
_TRIGGERS = """
SELECT DISTINCT g.tgname, e.event
FROM pg_trigger g JOIN (VALUES (4, 'INSERT'), (8, 'DELETE'), (16, 'UPDATE')) AS e(bit, event) ON g.tgtype & e.bit <> 0,
  pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace
WHERE n.nspname = %s AND t.relname = %s AND NOT g.tgisinternal
  AND (g.tgrelid = t.oid OR g.tgrelid IN (SELECT relid FROM pg_partition_tree(t.oid)))
  AND g.tgenabled::text IN ('A', CASE current_setting('session_replication_role') WHEN 'replica' THEN 'R' ELSE 'O' END)
ORDER BY 1, 2"""

_DEFINITION = """
SELECT c.conname, pg_get_constraintdef(c.oid), c.convalidated FROM pg_constraint c
JOIN pg_class t ON t.oid = c.conrelid JOIN pg_namespace n ON n.oid = t.relnamespace
WHERE c.contype = ANY(%s) AND c.conparentid = 0 AND c.conislocal
  AND n.nspname = %s AND t.relname = %s AND c.conname = ANY(%s)"""


def open_repairer(url: EndpointUrl, *, enforce_constraints: bool = True) -> PostgresRepairer:
    with translated(url):
        repairer = PostgresRepairer(repair_session(url), users_path(url))
    if not enforce_constraints:
        repairer.ask_no_trigger()
    return repairer


class PostgresRepairer(PostgresWriter):
    rewrite_events = ("UPDATE",)
    _suspended: tuple[str, ...] = ("c", "f")

    def ask_no_trigger(self) -> None:
        """Foreign keys are triggers. A user without the privilege can't disable them; `suspension` then drops them."""
        try:
            self.session.execute("SET session_replication_role = replica")
        except AccessError:
            return
        self._suspended = ("c",)

    def triggers(self, table: Table) -> Sequence[Trigger]:
        return [Trigger(*row) for row in self.session.rows(_TRIGGERS, [table.name.schema, table.name.name])]

    def address_column(self, table: Table) -> Column | None:
        return Column("ctid", LogicalType(TypeName.OPAQUE, "tid"), nullable=False, generated=True)

    def columns_from_address(self, table: Table, place: str) -> Row:
        return {}

    def is_transactional(self, table: Table) -> bool:
        return True

    def no_index_hint(self, table: Table) -> str | None:
        return None

    def read_no_index(self) -> None:
        for setting in _NO_INDEX:
            self.session.execute(f"SET LOCAL {setting} = off")

    def rebuild_statements(self, table: Table, index: str) -> Sequence[str]:
        return [f"REINDEX INDEX CONCURRENTLY {_DIALECT.table(TableName(table.name.schema, index))}"]

    def rebuild(self, table: Table, index: str) -> None:
        known = [table.name.schema, table.name.name, index]
        before = {name for (name,) in self.session.rows(_UNFINISHED, list(known))}
        try:
            self._rebuild(table, index)
        finally:
            # A failed REINDEX leaves an invalid index behind, which every write has to maintain.
            for (name,) in self.session.rows(_UNFINISHED, list(known)):
                if name not in before:
                    self.session.execute(f"DROP INDEX IF EXISTS {_DIALECT.table(TableName(table.name.schema, name))}")

    def _rebuild(self, table: Table, index: str) -> None:
        (concurrently,) = self.rebuild_statements(table, index)
        # It waits for transactions that may have seen the old index, and blocks nobody.
        self.session.execute("SET lock_timeout = '5min'")
        try:
            self.session.execute(concurrently)
        except TryAgain as waiting:
            raise Refused(f"an older transaction did not end in time: {waiting}") from None
        except Refused as refusal:
            if "concurrently" not in refusal.message.lower():
                raise
            self.session.execute(REPAIR_LOCK_WAIT)
            self.run(concurrently.replace(" CONCURRENTLY", ""))
        finally:
            self.session.execute(REPAIR_LOCK_WAIT)

    def duplicates(self, table: Table, columns: Sequence[str]) -> list[tuple[str, ...]]:
        self.begin()
        try:
            self.read_no_index()
            return [tuple(map(str, row)) for row in self.session.rows(duplicates_query(_DIALECT, table, columns, None))]
        finally:
            self.rollback()

    def parent(self, table: Table, constraint: str, columns: Sequence[str]) -> Parent | None:
        for schema, name, own, to in self.session.rows(_PARENT, [table.name.schema, table.name.name, constraint]):
            return Parent(TableName(schema, name), tuple(own), tuple(to))
        return None

    def default_statement(self, table: Table, key: Row, columns: Sequence[str]) -> str:
        return dml.assign(_DIALECT, table, key, dict.fromkeys(columns, "DEFAULT"))

    def rewrite_statements(self, table: Table, key: Row, row: Row) -> Sequence[str]:
        # The server recomputes only what depends on a written column; an identity column accepts no value.
        own = [c.name for c in table.columns if not c.generated and c.name not in key] or list(key)
        return [dml.assign(_DIALECT, table, key, {name: _DIALECT.quote(name) for name in own})]

    def advance_statements(self, table: Table, column: str, sequence: str | None) -> Sequence[str]:
        name, own = _DIALECT.table(table.name), _DIALECT.quote(column)
        if sequence is None:
            ((sequence,),) = self.session.rows("SELECT pg_get_serial_sequence(%s, %s)", [name, column])
            if sequence is None:
                raise Refused(f"{column} of {table.name} has no sequence")
        else:
            sequence = _DIALECT.table(named_sequence(sequence))
        # A descending sequence must be below the lowest value. Values that it never hands out don't matter.
        furthest = (
            f"CASE WHEN s.seqincrement OPERATOR(pg_catalog.>) 0 "
            f"THEN greatest(pg_catalog.max(t.{own}), pg_catalog.max(q.last_value)) "
            f"ELSE least(pg_catalog.min(t.{own}), pg_catalog.min(q.last_value)) END"
        )
        known = f"{quoting.text(sequence)}::pg_catalog.regclass"
        return [
            f"SELECT pg_catalog.setval({known}, {furthest}) FROM pg_catalog.pg_sequence s, {sequence} q, {name} t "
            f"WHERE s.seqrelid OPERATOR(pg_catalog.=) {known}::pg_catalog.oid "
            f"AND t.{own} OPERATOR(pg_catalog.>=) s.seqmin AND t.{own} OPERATOR(pg_catalog.<=) s.seqmax "
            "GROUP BY s.seqincrement"
        ]

    def suspension(self, table: Table, constraints: Sequence[str]) -> Suspension:
        """Drops constraints that the old row violates and adds them again as NOT VALID, which is then true."""
        found = self.session.rows(
            _DEFINITION, [list(self._suspended), table.name.schema, table.name.name, list(constraints)]
        )
        if not found:
            return Suspension()
        alter = f"ALTER TABLE {_DIALECT.table(table.name)}"
        before = tuple(f"{alter} DROP CONSTRAINT {_DIALECT.quote(name)}" for name, _, _ in found)
        after = tuple(
            f"{alter} ADD CONSTRAINT {_DIALECT.quote(name)} {text.removesuffix(' NOT VALID')} NOT VALID"
            for name, text, _ in found
        )
        lost = ", ".join(name for name, _, valid in found if valid)
        return Suspension(before, after, f"{lost} of {table.name} is NOT VALID now: rows violate it" if lost else None)

    def make_quarantine(self, schema: str) -> str:
        return quarantine_definition(_DIALECT.table(quarantine_table(schema).name), "TEXT")

    def run(self, statement: str) -> None:
        with conflict_is_refusal():
            self.session.execute(statement)
