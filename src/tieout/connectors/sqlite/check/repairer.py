"""Repairs what a check found in an SQLite file."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.repair import (
    Parent,
    Row,
    Suspension,
    Trigger,
    conflict_is_refusal,
    duplicates_query,
    quarantine_definition,
    quarantine_table,
)
from tieout.connectors.sql import dml
from tieout.connectors.sql.session import Purpose
from tieout.connectors.sqlite import quoting
from tieout.connectors.sqlite.dialect import SQLiteDialect
from tieout.connectors.sqlite.session import SQLiteSession
from tieout.connectors.sqlite.writer import SQLiteWriter
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import LogicalType, TypeName

_DIALECT = SQLiteDialect()
_ROWID = LogicalType(TypeName.INTEGER, "rowid", 64)
_ROWID_NAMES = ("rowid", "_rowid_", "oid")

_PARENT = 'SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(%s) ORDER BY id, seq'
_TRIGGERS = """
SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s COLLATE NOCASE ORDER BY name"""
_EVENT = re.compile(
    r"""\s*CREATE\s+TRIGGER\s+(?:"(?:[^"]|"")*"|'(?:[^']|'')*'|`(?:[^`]|``)*`|\[[^]]*\]|[^\s"'`\[]+)\s*"""
    r"(?:BEFORE\s|AFTER\s|INSTEAD\s+OF\s)?\s*(INSERT|UPDATE|DELETE)\b",
    re.IGNORECASE,
)
_KEY = "SELECT name FROM pragma_table_info(%s) WHERE pk > 0 ORDER BY pk"


def open_repairer(url: EndpointUrl, *, enforce_constraints: bool = True) -> SQLiteRepairer:
    settings = [
        f"foreign_keys = {'ON' if enforce_constraints else 'OFF'}",
        f"ignore_check_constraints = {'OFF' if enforce_constraints else 'ON'}",
        # Without it, a row whose index entry is missing could not be deleted. The schema itself is not written to.
        "writable_schema = ON",
    ]
    return SQLiteRepairer(SQLiteSession(url, Purpose.REPAIR, settings))


class SQLiteRepairer(SQLiteWriter):
    rewrite_events = ("UPDATE",)

    def triggers(self, table: Table) -> Sequence[Trigger]:
        """Reads the text of their definitions; a trigger whose text can't be parsed counts for every event."""
        found = []
        for name, text in self.session.rows(_TRIGGERS, [table.name.name]):
            event = _EVENT.match(text or "")
            found += [Trigger(name, each) for each in ([event[1].upper()] if event else ("INSERT", "UPDATE", "DELETE"))]
        return found

    def address_column(self, table: Table) -> Column | None:
        if self._is_without_rowid(table):
            return None
        taken = {column.name.casefold() for column in table.columns}
        free = next((name for name in _ROWID_NAMES if name not in taken), None)
        return None if free is None else Column(free, _ROWID, nullable=False, generated=True)

    def columns_from_address(self, table: Table, place: str) -> Row:
        """An INTEGER PRIMARY KEY is the rowid; in a table without a rowid, the key is the row address."""
        if not self._is_without_rowid(table):
            key = self.session.rows(
                "SELECT name, upper(type) FROM pragma_table_info(%s) WHERE pk > 0", [table.name.name]
            )
            return {str(key[0][0]): place} if len(key) == 1 and key[0][1] == "INTEGER" else {}
        parts = place.split(", ")
        return dict(zip(table.key, parts, strict=True)) if len(parts) == len(table.key) else {}

    def is_transactional(self, table: Table) -> bool:
        return True

    def no_index_hint(self, table: Table) -> str | None:
        return None if self._is_without_rowid(table) else "NOT INDEXED"

    def read_no_index(self) -> None:
        """A key that is the rowid needs none; others have been rebuilt before rows are changed."""

    def rebuild_statements(self, table: Table, index: str) -> Sequence[str]:
        return [f"REINDEX {_DIALECT.table(TableName(table.name.schema, index))}"]

    def rebuild(self, table: Table, index: str) -> None:
        for statement in self.rebuild_statements(table, index):
            self.run(statement)

    def duplicates(self, table: Table, columns: Sequence[str]) -> list[tuple[str, ...]]:
        statement = duplicates_query(_DIALECT, table, columns, self.no_index_hint(table))
        return [tuple(map(str, row)) for row in self.session.rows(statement)]

    def parent(self, table: Table, constraint: str, columns: Sequence[str]) -> Parent | None:
        """SQLite has no names of foreign keys: this one is called by its number, fkN, or found by its columns."""
        found: dict[int, list[tuple[str, str, str | None]]] = {}
        for number, parent, column, to in self.session.rows(_PARENT, [table.name.name]):
            found.setdefault(number, []).append((parent, column, to))
        named = [parts for number, parts in found.items() if constraint == f"fk{number}"]
        alike = [parts for parts in found.values() if tuple(column for _, column, _ in parts) == tuple(columns)]
        for parts in named + alike:
            name = TableName(table.name.schema, parts[0][0])
            key = [column for (column,) in self.session.rows(_KEY, [name.name])]
            to = tuple(to or key[place] for place, (_, _, to) in enumerate(parts))
            return Parent(name, tuple(column for _, column, _ in parts), to)
        return None

    def default_statement(self, table: Table, key: Row, columns: Sequence[str]) -> str:
        defaults = {name: f"({table.column(name).default or 'NULL'})" for name in columns}
        return dml.assign(_DIALECT, table, key, defaults)

    def rewrite_statements(self, table: Table, key: Row, row: Row) -> Sequence[str]:
        own = {c.name: _DIALECT.quote(c.name) for c in table.columns if not c.generated and c.name not in key}
        return [dml.assign(_DIALECT, table, key, own or {name: _DIALECT.quote(name) for name in key})]

    def advance_statements(self, table: Table, column: str, sequence: str | None) -> Sequence[str]:
        name, highest = _DIALECT.table(table.name), f"max({_DIALECT.quote(column)})"
        literal = quoting.text(table.name.name)
        there = f"SELECT 1 FROM sqlite_sequence WHERE name = {literal}"
        return [
            f"INSERT INTO sqlite_sequence (name, seq) SELECT {literal}, 0 WHERE NOT EXISTS ({there})",
            f"UPDATE sqlite_sequence SET seq = max(seq, (SELECT {highest} FROM {name} NOT INDEXED)) "
            f"WHERE name = {literal}",
        ]

    def suspension(self, table: Table, constraints: Sequence[str]) -> Suspension:
        return Suspension()

    def make_quarantine(self, schema: str) -> str:
        return quarantine_definition(_DIALECT.table(quarantine_table(schema).name), "TEXT")

    def run(self, statement: str) -> None:
        with conflict_is_refusal():
            self.session.execute(statement)

    def _is_without_rowid(self, table: Table) -> bool:
        return self.session.rows("SELECT wr FROM pragma_table_list(%s)", [table.name.name]) == [(1,)]
