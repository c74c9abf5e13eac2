"""A transaction of the source that is larger than those who read it ever get: it is applied whole.

For `make test-faults` alone: it writes a gigabyte.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.moving.pairs import PAIRS

ROWS, WIDTH = 500_000, 2_000
MEGABYTES = ROWS * WIDTH >> 20

MOVER = """
import os, sys
from pathlib import Path
from tieout import api
from tieout.model.requests import MoveRequest
from tieout.model.moves import Delivery
from tieout.model.requests import TableRequest
source, target, meta = sys.argv[1:]
request = MoveRequest("giant", source, target, (TableRequest("giant"),), Delivery.EXACTLY_ONCE)
status = api.run_move(request, spark=api.SparkSettings("local[1]"), meta=meta, until_caught_up=True)

def most(process):
    # The most memory that a process ever had, in megabytes; of our own session alone.
    try:
        if os.getsid(int(process.name)) == os.getsid(0) and b"pyspark.worker" in (process / "cmdline").read_bytes():
            lines = (process / "status").read_text().splitlines()
            return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) >> 10
    except OSError:
        pass
    return 0

print(status.changes, max(most(process) for process in Path("/proc").glob("[0-9]*")))
"""


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("pair", PAIRS)
def test_it_is_applied_whole(pair: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    source, target = (request.getfixturevalue(name) for name in PAIRS[pair])
    source.execute("CREATE TABLE giant (id INT PRIMARY KEY, v VARCHAR(2000))")
    source.execute("INSERT INTO giant VALUES (-1, 'first')")
    words = [sys.executable, "-c", MOVER, source.url, target.url, f"sqlite:///{tmp_path}/meta.db"]

    def move() -> list[int]:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=900, start_new_session=True)
        assert done.returncode == 0, done.stderr
        return [int(word) for word in done.stdout.split()]

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
    changes, megabytes = move()
    assert changes == ROWS + ROWS // 3 + ROWS // 7
    assert 0 < megabytes < MEGABYTES, "it was held in memory"
    look = "SELECT COUNT(*), SUM(id), SUM(CHAR_LENGTH(v)), SUM(CASE WHEN v = 'second' THEN id ELSE 0 END) FROM giant"
    assert [tuple(map(int, row)) for row in target.rows(look)] == [tuple(map(int, row)) for row in source.rows(look)]
