"""PostgreSQL's answers when it has to read the table, and when it has to read one index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.corruption.postgres.session import quoted, unguarded, vacuum

if TYPE_CHECKING:
    from psycopg import Cursor

    from tests.servers.server import Database, Row

NO_INDEX = "SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off"
# enable_indexscan = off would count against index-only scans too.
NO_TABLE = "SET enable_seqscan = off; SET enable_bitmapscan = off"


def fill(database: Database, table: str, insert: str) -> None:
    """After it, index-only scans need not look at the table."""
    with unguarded(database) as cursor:
        cursor.execute(insert)
        vacuum(cursor, table)


def in_table(database: Database, query: str) -> Counter[Row]:
    with database.connect() as connection, connection.cursor() as cursor:
        cursor.execute(NO_INDEX)
        assert _plan(cursor, query)["Node Type"] == "Seq Scan"
        return Counter(cursor.execute(query))


def in_index(database: Database, index: str, query: str) -> Counter[Row]:
    """From the entries alone: no row was fetched."""
    with _only(database, index) as cursor:
        plan = _plan(cursor, query)
        assert (plan["Node Type"], plan["Index Name"], plan["Heap Fetches"]) == ("Index Only Scan", index, 0)
        return Counter(cursor.execute(query))


def fetched(database: Database, index: str, query: str) -> Counter[Row]:
    """The rows that the entries lead to."""
    with _only(database, index) as cursor:
        cursor.execute("SET enable_indexonlyscan = off")
        plan = _plan(cursor, query)
        assert (plan["Node Type"], plan["Index Name"]) == ("Index Scan", index)
        return Counter(cursor.execute(query))


def disagreement(database: Database, index: str, query: str) -> tuple[set[Row], set[Row]]:
    """What only the table has, and what only the index has."""
    entries, rows = in_index(database, index, query), in_table(database, query)
    return set(rows - entries), set(entries - rows)


@contextmanager
def _only(database: Database, index: str) -> Iterator[Cursor[Any]]:
    """The planner knows of no other index of the table."""
    with database.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"BEGIN; {NO_TABLE}")
        cursor.execute(
            "UPDATE pg_index SET indisvalid = (indexrelid = %s::regclass)"
            " WHERE indrelid = (SELECT indrelid FROM pg_index WHERE indexrelid = %s::regclass)",
            (quoted(index), quoted(index)),
        )
        yield cursor
        cursor.execute("ROLLBACK")


def _plan(cursor: Cursor[Any], query: str) -> dict[str, Any]:
    ((plans,),) = cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}").fetchall()
    plan: dict[str, Any] = plans[0]["Plan"]
    return plan
