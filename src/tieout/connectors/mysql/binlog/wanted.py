"""The tables that a reader is asked for."""

from __future__ import annotations

from collections.abc import Iterable

from tieout.connectors.mysql.binlog.queries import Query
from tieout.model.tables import TableName


class Wanted:
    """`folded`: the server takes names in any case for the same table (lower_case_table_names)."""

    def __init__(self, tables: frozenset[TableName], folded: bool) -> None:
        self._folded = folded
        self._tables = {self._key(table): table for table in tables}
        self._schemas = {table.schema for table in tables}

    def named(self, name: TableName) -> TableName | None:
        """The table of this name, if it is wanted."""
        return self._tables.get(self._key(name))

    @property
    def tables(self) -> Iterable[TableName]:
        return self._tables.values()

    def in_schema(self, schema: str) -> list[TableName]:
        wanted = self._key(TableName(schema, "")).schema
        return [table for key, table in self._tables.items() if key.schema == wanted]

    def concerns(self, query: Query) -> bool:
        """Whether a statement could change their rows: it runs in their schema, or names it."""
        where = f"{query.schema} {query.raw.decode(errors='replace')}".lower()
        return any(schema.lower() in where for schema in self._schemas)

    def _key(self, name: TableName) -> TableName:
        return TableName(name.schema.lower(), name.name.lower()) if self._folded else name
