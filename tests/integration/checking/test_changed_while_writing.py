"""CHECK … CHANGED of a clean table that is being written to gives no failure. Only `make test-faults` runs it."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.background import in_background
from tests.integration.checking import test_while_writing
from tests.integration.checking.checks import Checking
from tieout.model.failures import CheckVerdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Database


@pytest.mark.parametrize("engine", ["db", "mysql_db"])
def test_no_failure_while_rows_are_written(
    request: pytest.FixtureRequest, engine: str, spark: SparkSession, tmp_path: Path
) -> None:
    database: Database = request.getfixturevalue(engine)
    for statement in test_while_writing.TABLE.split(";"):
        database.execute(statement)
    if engine == "db":
        database.execute("ALTER TABLE t REPLICA IDENTITY FULL")
    rows = [(n, n % 50, f"b{n % 7}", n) for n in range(test_while_writing.ROWS)]
    database.executemany("INSERT INTO t VALUES (%s, %s, %s, %s)", rows)
    checking = Checking(database.url, spark, tmp_path)
    statement = "CHECK TABLE t INDEX by_a, by_b, by_id CHANGED"
    checking.run(statement)
    written: list[int] = []
    with in_background(lambda done: test_while_writing._write(database, Random(3), done, written)):
        for _ in range(2):
            report = checking.run(statement, recheck_after=0.2, recheck_times=5)
            assert report.failures == ()
    assert report.changed[0].changes > 20, "nothing was written meanwhile"
    assert checking.run(statement).verdict is CheckVerdict.CLEAN
