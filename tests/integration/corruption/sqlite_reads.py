"""SQLite's answers when it has to read the table, and when it has to read one index."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tests.corruption.sqlite.session import itself

if TYPE_CHECKING:
    from tests.servers.server import Row
    from tests.servers.sqlite import SqliteDatabase


def in_table(database: SqliteDatabase, table: str, columns: str, where: str = "1") -> Counter[Row]:
    with database.connect() as connection:
        query = f"SELECT {columns} FROM {itself(connection, table)} WHERE {where}"
    assert "INDEX" not in _plan(database, query)
    return Counter(database.rows(query))


def in_index(database: SqliteDatabase, table: str, index: str, columns: str, where: str = "1") -> Counter[Row]:
    """From the entries alone: no row was fetched."""
    query = f'SELECT {columns} FROM "{table}" INDEXED BY "{index}" WHERE {where}'
    assert f"USING COVERING INDEX {index}" in _plan(database, query)
    return Counter(database.rows(query))


def fetched(database: SqliteDatabase, table: str, index: str, columns: str, where: str) -> Counter[Row]:
    """The rows that the entries lead to."""
    query = f'SELECT {columns} FROM "{table}" INDEXED BY "{index}" WHERE {where}'
    assert f"USING INDEX {index}" in _plan(database, query)
    return Counter(database.rows(query))


def disagreement(
    database: SqliteDatabase, table: str, index: str, columns: str, where: str = "1"
) -> tuple[set[Row], set[Row]]:
    """What only the table has, and what only the index has."""
    entries, rows = in_index(database, table, index, columns, where), in_table(database, table, columns, where)
    return set(rows - entries), set(entries - rows)


def _plan(database: SqliteDatabase, query: str) -> str:
    ((*_, text),) = database.rows(f"EXPLAIN QUERY PLAN {query}")
    return str(text)
