"""Repairs what a check found on a MySQL server."""

from __future__ import annotations

from collections.abc import Sequence

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.check.catalog import is_clustered
from tieout.connectors.mysql.server_kind import ServerKind
from tieout.connectors.mysql.show_create import keys_of, parts_of
from tieout.connectors.mysql.writer import MySQLWriter, open_writer
from tieout.connectors.protocols.repair import (
    Parent,
    Refused,
    Row,
    Suspension,
    Trigger,
    conflict_is_refusal,
    duplicates_query,
    named_sequence,
    quarantine_definition,
    quarantine_table,
)
from tieout.connectors.sql import dml
from tieout.model.tables import Column, Table, TableName

_REBUILT = "tieout_rebuilt"

_PARENT = """
SELECT referenced_table_schema, referenced_table_name, column_name, referenced_column_name
FROM information_schema.key_column_usage WHERE table_schema = %s AND table_name = %s AND constraint_name = %s
  AND referenced_table_name IS NOT NULL ORDER BY ordinal_position"""

_TRIGGERS = """
SELECT trigger_name, event_manipulation FROM information_schema.triggers
WHERE event_object_schema = %s AND event_object_table = %s ORDER BY 1, 2"""

_INDEXES = "SELECT DISTINCT index_name FROM information_schema.statistics WHERE table_schema = %s AND table_name = %s"


def open_repairer(url: EndpointUrl, *, enforce_constraints: bool = True) -> MySQLRepairer:
    writer = open_writer(url)
    repairer = MySQLRepairer(writer.session, writer.server_kind, writer.most_bytes)
    if not enforce_constraints:
        repairer.ask_nothing()
    return repairer


class MySQLRepairer(MySQLWriter):
    rewrite_events = ("DELETE", "INSERT")

    def ask_nothing(self) -> None:
        self.session.execute("SET SESSION foreign_key_checks = 0")
        if self.server_kind is ServerKind.MARIADB:
            self.session.execute("SET SESSION check_constraint_checks = 0")

    def triggers(self, table: Table) -> Sequence[Trigger]:
        """The triggers that the user may see, which takes the TRIGGER privilege."""
        return [Trigger(*row) for row in self.session.rows(_TRIGGERS, [table.name.schema, table.name.name])]

    def address_column(self, table: Table) -> Column | None:
        return None

    def columns_from_address(self, table: Table, place: str) -> Row:
        """An entry of InnoDB leads to its row by the primary key."""
        parts = place.split(", ")
        return dict(zip(table.key, parts, strict=True)) if len(parts) == len(table.key) else {}

    def is_transactional(self, table: Table) -> bool:
        return is_clustered(table)

    def no_index_hint(self, table: Table) -> str | None:
        return "USE INDEX ()"

    def read_no_index(self) -> None:
        """Does nothing: InnoDB stores rows in the primary key, and other engines are repaired before rows change."""

    def rebuild_statements(self, table: Table, index: str) -> Sequence[str]:
        alter = f"ALTER TABLE {self._name(table)}"
        if not is_clustered(table):
            return [f"REPAIR TABLE {self._name(table)}"]
        columns = self._definition(table, index)
        if columns is None:
            return [f"{alter} FORCE"]
        # One by one: in one statement, the server mistakes the new index for the old one, and keeps the old one.
        own, new = self._quote(index), self._quote(_REBUILT)
        return [f"{alter} ADD {columns}", f"{alter} DROP INDEX {own}", f"{alter} RENAME INDEX {new} TO {own}"]

    def rebuild(self, table: Table, index: str) -> None:
        if not is_clustered(table):
            self._repair(table)
            return
        there = {name for (name,) in self.session.rows(_INDEXES, [table.name.schema, table.name.name])}
        alter, own, new = f"ALTER TABLE {self._name(table)}", self._quote(index), self._quote(_REBUILT)
        if _REBUILT in there and index not in there:
            self.run(f"{alter} RENAME INDEX {new} TO {own}")
            return
        if _REBUILT in there:
            self.run(f"{alter} DROP INDEX {new}")
        try:
            for statement in self.rebuild_statements(table, index):
                self.run(statement)
        except Refused as refusal:
            if refusal.collides:
                raise
            self.run(f"{alter} FORCE")

    def _repair(self, table: Table) -> None:
        for _, _, kind, text in self.session.rows(f"REPAIR TABLE {self._name(table)}"):
            if str(kind).lower() == "error" or (str(kind).lower() == "status" and str(text) != "OK"):
                raise Refused(f"REPAIR TABLE: {text}")

    def _definition(self, table: Table, index: str) -> str | None:
        """The definition of the index under another name; None if it cannot exist beside the old one."""
        if index == "PRIMARY":
            return None
        ((_, text),) = self.session.rows(f"SHOW CREATE TABLE {self._name(table)}")
        part = keys_of(parts_of(str(text))[0]).get(index)
        if part is None:
            return None
        kind, _, of_what = part.partition(f" {self._quote(index)} ")
        return f"{kind} {self._quote(_REBUILT)} {of_what}"

    def duplicates(self, table: Table, columns: Sequence[str]) -> list[tuple[str, ...]]:
        statement = duplicates_query(self._dialect, table, columns, self.no_index_hint(table))
        return [tuple(map(str, row)) for row in self.session.rows(statement)]

    def parent(self, table: Table, constraint: str, columns: Sequence[str]) -> Parent | None:
        found = self.session.rows(_PARENT, [table.name.schema, table.name.name, constraint])
        if not found:
            return None
        return Parent(TableName(*found[0][:2]), tuple(row[2] for row in found), tuple(row[3] for row in found))

    def default_statement(self, table: Table, key: Row, columns: Sequence[str]) -> str:
        return dml.assign(self.statements.dialect, table, key, dict.fromkeys(columns, "DEFAULT"))

    def rewrite_statements(self, table: Table, key: Row, row: Row) -> Sequence[str]:
        # An UPDATE that changes nothing writes nothing, and leaves generated columns as they are.
        losing = [reference for reference in self.references(table) if reference.loses]
        return [self.statements.delete(table, key, losing), self.statements.insert(table, row)]

    def advance_statements(self, table: Table, column: str, sequence: str | None) -> Sequence[str]:
        if sequence in (None, "AUTO_INCREMENT"):
            # Given too low a number, the engine continues after the highest value.
            return [f"ALTER TABLE {self._name(table)} AUTO_INCREMENT = 1"]
        name = self._dialect.table(named_sequence(str(sequence)))
        ((step,),) = self.session.rows(f"SELECT increment FROM {name}")
        furthest = f"{'MIN' if int(step) < 0 else 'MAX'}({self._quote(column)})"
        return [f"SELECT SETVAL({name}, (SELECT {furthest} FROM {self._name(table)} USE INDEX ()))"]

    def suspension(self, table: Table, constraints: Sequence[str]) -> Suspension:
        return Suspension()

    def make_quarantine(self, schema: str) -> str:
        options = " ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin"
        return quarantine_definition(self._dialect.table(quarantine_table(schema).name), "LONGTEXT", options)

    def run(self, statement: str) -> None:
        with conflict_is_refusal():
            self.session.execute(statement)

    def _name(self, table: Table) -> str:
        return self._dialect.table(table.name)

    def _quote(self, name: str) -> str:
        return self._dialect.quote(name)
