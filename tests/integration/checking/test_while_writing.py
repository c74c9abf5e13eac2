"""A clean table that is being written to gives no failure. One seed; `make test-faults` runs twenty on every engine."""

from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from tests.background import in_background
from tests.integration.checking.checks import Checking
from tests.variants import later
from tieout.model.failures import CheckVerdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Database
    from tests.servers.sqlite import SqliteDatabase

TABLE = """
CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(40), c INT);
CREATE INDEX by_a ON t (a);
CREATE INDEX by_b ON t (b, a);
CREATE UNIQUE INDEX by_id ON t (id, c)"""
ROWS = 2000


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    seeds = range(20 if metafunc.config.getoption("all_faults") else 1)
    metafunc.parametrize("seed", seeds)
    # One engine; `make test-faults` has them all.
    metafunc.parametrize("engine", ["db", *(later(name) for name in ("mysql_db", "sqlite_db"))])


def test_no_failure(
    request: pytest.FixtureRequest, engine: str, seed: int, spark: SparkSession, tmp_path: Path
) -> None:
    database: Database | SqliteDatabase = request.getfixturevalue(engine)
    mark = "%s"
    if not hasattr(database, "execute"):
        database, mark = database("db"), "?"
        database.execute("PRAGMA journal_mode = WAL")
    for statement in TABLE.split(";"):
        database.execute(statement)
    if database.url.startswith("mysql:"):
        database.execute("CREATE INDEX begins ON t (b(2)); CREATE INDEX begins_too ON t (a, b(2))")
    rows = [(n, n % 50, f"b{n % 7}", n) for n in range(ROWS)]
    database.executemany(f"INSERT INTO t VALUES ({', '.join([mark] * 4)})", rows)
    checking = Checking(database.url, spark, tmp_path)
    written: list[int] = []
    with in_background(lambda done: _write(database, random.Random(seed), done, written)):
        for _ in range(3 if request.config.getoption("all_faults") else 1):
            report = checking.run("INSPECT TABLE t", recheck_after=0.2, recheck_times=5)
            assert report.failures == ()
    assert len(written) > 20, "nothing was written meanwhile"
    assert checking.run("INSPECT TABLE t").verdict is CheckVerdict.CLEAN


def _write(database: Database | SqliteDatabase, chance: random.Random, done: Event, written: list[int]) -> None:
    vacuums = database.url.startswith("postgresql:")
    with database.connect() as connection, closing(connection.cursor()) as cursor:
        while not done.is_set():
            place = chance.randrange(ROWS)
            statements = [
                f"UPDATE t SET a = {chance.randrange(50)} WHERE id BETWEEN {place} AND {place + 20}",
                f"UPDATE t SET c = {chance.randrange(50)} WHERE id = {place}",
                f"UPDATE t SET b = NULL WHERE id = {place}",
                f"DELETE FROM t WHERE id BETWEEN {place} AND {place + 5}",
                f"UPDATE t SET id = id + 100000 WHERE id = {place}",
                f"INSERT INTO t SELECT MAX(id) + 1, 1, 'new', {place} FROM t",
            ]
            _run(cursor, [chance.choice(statements) for _ in range(chance.randrange(1, 4))])
            written.append(place)
            if not hasattr(database, "server"):
                done.wait(0.005)  # a file has no server that takes its time: its writer would leave the check none
            if vacuums and chance.random() < 0.05:
                cursor.execute("VACUUM t")


def _run(cursor: Any, statements: list[str]) -> None:
    """In one transaction, which fails if a key is taken."""
    cursor.execute("BEGIN")
    try:
        for statement in statements:
            cursor.execute(statement)
        cursor.execute("COMMIT")
    except Exception as error:
        if "uplicate" not in str(error) and "UNIQUE" not in str(error):
            raise
        cursor.execute("ROLLBACK")
