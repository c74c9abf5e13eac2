"""Rows that change while their chunks are read: afterwards both sides hold the same.

One seed on two pairs; `make test-faults` (pytest --all-faults) runs twenty on every pair.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from tests.faults.moving import workload
from tests.integration.moving.pairs import ACROSS, PAIRS, Moving, remarks_of, way
from tieout.connectors.mysql.move.source import MySQLSource
from tieout.errors import UnsupportedError
from tieout.move.table_mover import TableMover

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Database

SEEDS = 20


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    everything = metafunc.config.getoption("all_faults")
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(SEEDS if everything else 1))
    if "pair" in metafunc.fixturenames:
        metafunc.parametrize("pair", PAIRS if everything else ACROSS)


@pytest.fixture
def moving(pair: str, request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Iterator[Moving]:
    yield from way(request, pair, spark, tmp_path)


def test_writers_while_chunks_are_read(moving: Moving, seed: int) -> None:
    for database in (moving.source, moving.target):
        workload.create(database)
    workload.fill(moving.source)
    asked = moving.asking(*workload.TABLES, chunk_rows=150, poll_seconds=0.05)
    with ExitStack() as stack:
        writers = [
            stack.enter_context(workload.writing(moving.source, seed * 10 + number, pause=0.001)) for number in range(3)
        ]
        before = sum(made[0] for made in writers)
        status = asked.run()
        assert sum(made[0] for made in writers) > before + 20, "nothing was written meanwhile"
    assert sum(table["chunks"] for table in status["tables"]) > 16
    asked.run()
    assert workload.contents(moving.target) == workload.contents(moving.source)


def test_writers_between_watermarks(mariadb_to_postgres: Moving, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a server that does not tell where a snapshot lies in its log."""
    monkeypatch.setattr(MySQLSource, "_watermarks", True)
    moving = mariadb_to_postgres
    workload.create(moving.source)
    workload.fill(moving.source)
    with pytest.raises(UnsupportedError, match="it has no key"):
        moving.asking("loose").run()
    asked = moving.asking("keyed", "named", chunk_rows=200)
    with workload.writing(moving.source, 1, pause=0.001), workload.writing(moving.source, 2, pause=0.001):
        seen = asked.run()
    last = asked.run()
    assert remarks_of(seen) == remarks_of(last) == []
    assert seen["changes"] > 100
    wanted, found = (
        {table: sorted(side.rows(f"SELECT * FROM {table}")) for table in ("keyed", "named")}
        for side in (moving.source, moving.target)
    )
    assert found == wanted
    asked.drop()
    assert "tieout_watermark" not in {name for (name,) in moving.source.rows("SHOW TABLES")}


@pytest.fixture
def held_back(moving: Moving, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A commit that is in the log, and not visible until the block ends: made before the first chunk is read.

    On MariaDB before the log's beginning is noted, too. PostgreSQL would make no slot until it is over.
    """
    source = moving.source
    place = "_chunks" if source.server.scheme == "postgresql" else "_begin_log"
    go_on = getattr(TableMover, place)
    commit = Thread(target=_commit_and_wait, args=[source])
    ended: list[Callable[[], None]] = []

    def hold_and_go_on(mover: TableMover) -> object:
        if not commit.ident:
            waiting, release = _holding(source)
            ended.append(release)
            commit.start()
            _until(lambda: source.rows(waiting))
        return go_on(mover)

    monkeypatch.setattr(TableMover, place, hold_and_go_on)
    for database in (source, moving.target):
        workload.create(database)
    workload.fill(source)
    yield
    for release in ended:
        release()
        commit.join(30)
        assert not commit.is_alive()


def _holding(source: Database) -> tuple[str, Callable[[], None]]:
    """From now on a commit waits for somebody who does not exist: how to see that it does, and how to end it."""
    if source.server.scheme == "postgresql":
        source.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        source.execute("SELECT pg_reload_conf()")

        def release() -> None:
            source.execute("ALTER SYSTEM RESET synchronous_standby_names")
            source.execute("SELECT pg_reload_conf()")

        return "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'", release
    source.execute("SET GLOBAL rpl_semi_sync_master_wait_point = AFTER_SYNC, rpl_semi_sync_master_timeout = 60000")
    source.execute("SET GLOBAL rpl_semi_sync_master_wait_no_slave = ON, rpl_semi_sync_master_enabled = ON")
    waiting = "SELECT 1 FROM information_schema.processlist WHERE state LIKE '%semi-sync%'"
    return waiting, lambda: source.execute("SET GLOBAL rpl_semi_sync_master_enabled = OFF")


def test_a_commit_that_is_in_the_log_and_not_visible_yet(moving: Moving, held_back: None) -> None:
    asked = moving.asking(*workload.TABLES, chunk_rows=300)
    asked.run()
    assert moving.source.rows("SELECT n FROM keyed WHERE id = 5") == [(0,)], "it is held back still"
    assert moving.target.rows("SELECT n FROM keyed WHERE id = 5") == [(77,)], "and the log has told it"
    assert moving.target.rows("SELECT id FROM keyed WHERE id IN (6, 987654)") == [(987654,)]
    assert moving.target.rows("SELECT b FROM loose WHERE a = 99") == [("held back",)]


def _commit_and_wait(source: Database) -> None:
    with source.connect() as connection, connection.cursor() as cursor:
        if source.server.scheme == "postgresql":
            cursor.execute("SET synchronous_commit = on")
        cursor.execute("BEGIN")
        cursor.execute("UPDATE keyed SET n = 77 WHERE id = 5")
        cursor.execute("UPDATE keyed SET id = 987654 WHERE id = 6")
        cursor.execute("INSERT INTO loose VALUES (99, 'held back')")
        cursor.execute("COMMIT")


def _until(condition: Callable[[], object], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came so far"
        time.sleep(0.02)
