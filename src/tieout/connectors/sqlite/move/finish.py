"""Finishing a move in an SQLite file: AUTOINCREMENT, foreign keys, statistics, and what the file has besides rows."""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.finish import CHECK, INDEX, PRIMARY, UNIQUE, DatabaseObject, Definition, Orphans
from tieout.connectors.sql.ddl import TABLE, Reference
from tieout.connectors.sql.internal_tables import PREFIX
from tieout.connectors.sql.orphans import orphans
from tieout.connectors.sqlite import quoting
from tieout.connectors.sqlite.check.catalog import constraints_of, indexes_of
from tieout.connectors.sqlite.check.constraint_query import SQLiteConstraints
from tieout.connectors.sqlite.endpoint import SQLiteEndpoint, open_endpoint
from tieout.connectors.sqlite.move.ddl_same_engine import counters
from tieout.connectors.sqlite.tokens import tokens
from tieout.errors import TieoutError
from tieout.model.constraints import ConstraintInfo, ConstraintKind, Enforcement
from tieout.model.finish import Counter, DisabledTrigger
from tieout.model.moves import Fence
from tieout.model.tables import Table, TableName

Run = Callable[[Fence, TableName, Sequence[str]], None]
_MOST = (1 << 63) - 1


@dataclass
class SQLiteFinish:
    """A Catalog, and with `run` a TargetFinish. `run` runs statements under the mover's fence."""

    url: EndpointUrl
    run: Run | None = None

    @cached_property
    def _endpoint(self) -> SQLiteEndpoint:
        return open_endpoint(self.url)

    def close(self) -> None:
        if "_endpoint" in self.__dict__:
            self._endpoint.close()

    def objects(self, schemas: Sequence[str], tables: Sequence[TableName]) -> list[DatabaseObject]:
        wanted = {table.name: table for table in tables}
        found = []
        for kind, name, table in self._endpoint.all(
            "SELECT type, name, tbl_name FROM main.sqlite_master WHERE type IN ('table', 'view', 'trigger') "
            "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, name"
        ):
            if name.startswith(PREFIX):
                continue  # what the mover keeps in the source
            if kind != "trigger":
                found.append(DatabaseObject(kind, "main", name))
            elif table in wanted:
                found.append(DatabaseObject(kind, "main", name, wanted[table]))
            else:
                found.append(DatabaseObject(kind, "main", name))  # of a view, or of a table that is not moved
        return found

    def definitions(self, table: Table) -> list[Definition]:
        found = []
        for index in indexes_of(self._endpoint, table):
            kind = PRIMARY if index.primary else UNIQUE if index.unique else INDEX
            words = [f"{column.name}{' DESC' if column.descending else ''}" for column in index.columns]
            rule = f"({', '.join(words)})" + (f" WHERE {index.where}" if index.where else "")
            found.append(Definition(kind, index.name, index.column_names, rule, detail=rule))
        for each in constraints_of(self._endpoint, table):
            if each.kind is ConstraintKind.CHECK:
                found.append(Definition(CHECK, each.name, (), each.definition, False, each.definition))
        return found

    def references(self, table: Table) -> list[Reference]:
        found = []
        for key in self._keys(table):
            assert key.reference is not None
            parent, columns = key.reference.parent, key.reference.columns
            found.append(Reference(key.name, key.columns, parent, columns, "NO ACTION", "NO ACTION"))
        return found

    def following(self, table: Table) -> Mapping[str, int]:
        """By the key's column: SQLite numbers only that one."""
        if not table.key or not self._endpoint.all("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_sequence'"):
            return {}
        name = quoting.text(table.name.name)
        rows = self._endpoint.all(f"SELECT seq FROM sqlite_sequence WHERE name = {name}")
        return {table.key[0]: int(rows[0][0]) + 1} if rows else {}

    def blind_spots(self) -> list[str]:
        return []

    def count_on(self, fence: Fence, table: Table, wanted: Mapping[str, int]) -> list[Counter]:
        ((statement,),) = self._endpoint.all(
            f"SELECT sql FROM main.sqlite_master WHERE type = 'table' AND name = {quoting.text(table.name.name)}"
        )
        if not any(token.says("AUTOINCREMENT") for token in tokens(statement)) or len(table.key) != 1:
            return []
        (column,) = table.key
        quoted = self._name(column)
        ((most,),) = self._endpoint.all(f"SELECT MAX({quoted}) FROM {self._name(table.name.name)}")
        number = max(self.following(table).get(column, 1), wanted.get(column, 1), (most or 0) + 1)
        assert self.run is not None
        self.run(fence, table.name, counters(min(number, _MOST) - 1))
        problem = None if number <= _MOST else f"its numbers are used up ({_MOST})"
        return [Counter(str(table.name), column, None if problem else number, problem)]

    def foreign_keys(self, tables: Sequence[Table]) -> list[ConstraintInfo]:
        moved = {table.name for table in tables}
        found = []
        for table in self._endpoint.describe(self._endpoint.tables()):
            for key in self._keys(table):
                parents = {table.name.name.casefold() for table in tables}
                if table.name in moved or (key.reference and key.reference.parent.name.casefold() in parents):
                    found.append(key)
        return found

    def _keys(self, table: Table) -> list[ConstraintInfo]:
        # Each connection decides whether it enforces them.
        return [
            replace(key, enforcement=Enforcement.ENFORCED)
            for key in constraints_of(self._endpoint, table)
            if key.kind is ConstraintKind.FOREIGN_KEY
        ]

    def validate(self, fence: Fence, key: ConstraintInfo) -> None:
        """Nothing: SQLite has no foreign key that waits for it."""

    def orphans(self, key: ConstraintInfo) -> Orphans:
        number = [each.name for each in self._keys(key.table)].index(key.name)
        rows = Counts(
            row[3] for row in self._endpoint.all(f"PRAGMA main.foreign_key_check({self._name(key.table.name.name)})")
        )
        if not rows[number]:
            return Orphans(0)
        example = None
        # Without the parent, nothing can be compared; SQLite has counted all the same.
        with suppress(TieoutError):
            alone = dict.fromkeys([key.table.name, *([key.reference.parent] if key.reference else [])], "")
            example = orphans(SQLiteConstraints(alone), key, self._endpoint.all).example
        return Orphans(rows[number], example)

    def disabled_triggers(self, tables: Sequence[TableName]) -> list[DisabledTrigger]:
        return []  # SQLite can't disable one

    def analyze(self, fence: Fence, table: TableName) -> None:
        assert self.run is not None
        self.run(fence, table, [f"ANALYZE {TABLE}"])

    def warnings(self) -> list[str]:
        return []

    def _name(self, name: str) -> str:
        return quoting.name(name)
