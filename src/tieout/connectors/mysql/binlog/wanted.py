"""The tables that a reader is asked for."""

from __future__ import annotations

import re
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

    def concerns(self, query: Query, text: str | None = None) -> bool:
        """Whether a statement could change their rows: it runs in their schema, or names it."""
        where = f"{query.schema} {query.raw.decode(errors='replace') if text is None else text}"
        return any(_may_name(where, schema) for schema in self._schemas)

    def perhaps_in(self, text: str) -> list[TableName]:
        """Those whose names may be in a text that nobody can cut into words."""
        return [table for table in self.tables if _may_name(text, table.name)]

    def _key(self, name: TableName) -> TableName:
        return TableName(name.schema.lower(), name.name.lower()) if self._folded else name


def _may_name(text: str, name: str) -> bool:
    """Whether a name may stand in a text, in any case and any quotes."""
    if "\ufffd" in text and not name.isascii():
        return True  # some of its characters could not be read
    spellings = {name.replace(quote, quote * 2) for quote in '\0`"]'}
    # Digits may stand before it: those of a version whose code it is.
    return any(
        re.search(rf"(?<![A-Za-z_$\x80-\x9f\xa1-\ufffc]){re.escape(spelling)}(?![\w$])", text, re.IGNORECASE)
        for spelling in spellings
    )
