"""MariaDB's answers when it has to read the table, and when it has to read one index."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.servers.server import Database, Row


def in_table(database: Database, table: str, columns: str, where: str = "1") -> Counter[Row]:
    query = f"SELECT {columns} FROM `{table}` USE INDEX () WHERE {where}"
    assert _plan(database, query)[0] is None
    return Counter(database.rows(query))


def in_index(database: Database, table: str, index: str, columns: str, where: str = "1") -> Counter[Row]:
    """From the entries alone: no row was fetched."""
    query = f"SELECT {columns} FROM `{table}` FORCE INDEX (`{index}`) WHERE {where}"
    key, extra = _plan(database, query)
    assert key == index
    assert "Using index" in extra.split("; ")
    return Counter(database.rows(query))


def fetched(database: Database, table: str, index: str, columns: str, where: str) -> Counter[Row]:
    """The rows that the entries lead to."""
    query = f"SELECT {columns} FROM `{table}` FORCE INDEX (`{index}`) WHERE {where}"
    key, extra = _plan(database, query)
    assert key == index
    assert "Using index" not in extra.split("; ")
    return Counter(database.rows(query))


def disagreement(
    database: Database, table: str, index: str, columns: str, where: str = "1"
) -> tuple[set[Row], set[Row]]:
    """What only the table has, and what only the index has."""
    entries, rows = in_index(database, table, index, columns, where), in_table(database, table, columns, where)
    return set(rows - entries), set(entries - rows)


def _plan(database: Database, query: str) -> tuple[Any, str]:
    ((*_, key, _length, _ref, _rows, extra),) = database.rows(f"EXPLAIN {query}")
    return key, extra or ""
