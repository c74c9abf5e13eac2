"""A transaction of the source that is larger than the memory of those who read it: applied whole, or not at all.

For `make test-faults` alone: it writes some hundred megabytes.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.moving.pairs import PAIRS

ROWS, WIDTH = 600_000, 800
MEMORY = 400
"""Megabytes that a Python worker may have, of about 100 before it has read a row."""

MOVER = """
import sys
from tieout import api
from tieout.model.move_requests import MoveRequest
from tieout.model.moving import Delivery
from tieout.model.requests import TableRequest
source, target, meta, memory = sys.argv[1:]
request = MoveRequest("giant", source, target, (TableRequest("giant"),), Delivery.EXACTLY_ONCE)
spark = api.SparkSettings("local[1]", {"spark.executor.pyspark.memory": f"{memory}m"})
status = api.run_move(request, spark=spark, meta=meta, until_caught_up=True)
print(status["changes"])
"""


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("pair", PAIRS)
def test_it_is_applied_whole(pair: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    source, target = (request.getfixturevalue(name) for name in PAIRS[pair])
    source.execute("CREATE TABLE giant (id INT PRIMARY KEY, v VARCHAR(1000))")
    source.execute("INSERT INTO giant VALUES (-1, 'first')")
    words = [sys.executable, "-c", MOVER, source.url, target.url, f"sqlite:///{tmp_path}/meta.db", str(MEMORY)]

    def move() -> int:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=900)
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    move()
    numbers = (
        f"SELECT i FROM generate_series(1, {ROWS}) AS s(i)"
        if source.server.scheme == "postgresql"
        else f"SELECT seq AS i FROM seq_1_to_{ROWS}"
    )
    with source.connect() as connection, connection.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute(f"INSERT INTO giant SELECT i, REPEAT(CAST(i % 10 AS CHAR(1)), {WIDTH}) FROM ({numbers}) AS n")
        cursor.execute("UPDATE giant SET v = 'second' WHERE id % 3 = 0")
        cursor.execute("DELETE FROM giant WHERE id % 7 = 0")
        cursor.execute("COMMIT")
    assert ROWS * WIDTH > MEMORY << 20, "it would fit"
    assert move() == ROWS + ROWS // 3 + ROWS // 7
    look = "SELECT COUNT(*), SUM(id), SUM(CHAR_LENGTH(v)), SUM(CASE WHEN v = 'second' THEN id ELSE 0 END) FROM giant"
    assert [tuple(map(int, row)) for row in target.rows(look)] == [tuple(map(int, row)) for row in source.rows(look)]
