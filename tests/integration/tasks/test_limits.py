"""The connections and the rate of an endpoint hold for tables that Spark filters, computes or merges, too."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from tests.integration.moving.pairs import Moving
from tests.integration.tasks.tables import request_of, with_task
from tests.variants import later
from tieout import api
from tieout.model.requests import Narrowing, TableRequest

SLOWLY = "sleep(0.02) = 0"
"""The engine's own SQL, that each table be read for a while."""


def most_readers(moving: Moving, tables: tuple[TableRequest, ...], **options: object) -> int:
    """How many connections read the source at once while the task is verified."""
    moving = with_task(moving, *tables)
    request = replace(request_of(moving, **options), narrowing=Narrowing(source_where=SLOWLY))
    request = replace(request, source=f"{request.source}?connections=1")
    seen: list[int] = []
    ending = threading.Event()

    def look() -> None:
        state = "SELECT COUNT(*) FROM information_schema.processlist WHERE db = %s AND state = 'User sleep'"
        with moving.source.server.connect() as connection, connection.cursor() as cursor:
            while not ending.wait(0.02):
                cursor.execute(state, [moving.source.name])
                seen.append(cursor.fetchone()[0])

    looking = threading.Thread(target=look)
    looking.start()
    try:
        result = api.run_verification(request, spark=moving.spark, meta=moving.meta)
    finally:
        ending.set()
        looking.join()
    assert [(table.rows.source, table.differences.total) for table in result.tables] == [(40, 0)] * 5, result
    return max(seen)


@pytest.mark.parametrize("counts_only", [False, later(True)])
def test_no_more_connections_than_the_endpoint_allows(mariadb_to_postgres: Moving, counts_only: bool) -> None:
    source, target = mariadb_to_postgres.source, mariadb_to_postgres.target
    for number in range(5):
        for database in (source, target):
            database.execute(f"CREATE TABLE t{number} (id INT PRIMARY KEY, v INT)")
            database.executemany(f"INSERT INTO t{number} VALUES (%s, %s)", [(n, n + 1) for n in range(40)])
    # Of one of them the rows are read as they are.
    tables = tuple(TableRequest(f"t{number}", where="v > 0") for number in range(4))
    assert most_readers(mariadb_to_postgres, (*tables, TableRequest("t4")), counts_only=counts_only) == 1
