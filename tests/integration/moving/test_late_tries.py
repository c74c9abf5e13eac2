"""A try of a task that outlives its job: its executor was thought lost, and what it did was done again elsewhere."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from tests.integration.moving.pairs import Moving
from tests.integration.moving.troubles import until
from tieout.move import follow
from tieout.move.staging import StageLogBatch

MERGING = "SELECT 1 FROM pg_locks WHERE relation = 'events'::regclass AND NOT granted"


@contextmanager
def held_up(moving: Moving) -> Iterator[None]:
    """Who merges waits for the table; who stages does not."""
    with moving.target.connect() as connection:
        connection.autocommit = False
        connection.execute("LOCK TABLE events IN SHARE MODE")
        yield
        connection.rollback()


def test_rows_without_a_key_are_not_doubled(mariadb_to_postgres: Moving, monkeypatch: pytest.MonkeyPatch) -> None:
    """The job is done by the second try. The first one comes through while what was staged is merged."""
    moving = mariadb_to_postgres.asking("events")
    for database in (moving.source, moving.target):
        database.execute("CREATE TABLE events (n INT, note VARCHAR(20))")
    moving.run()
    moving.source.execute("INSERT INTO events VALUES (1, 'one'), (2, 'two'), (2, 'two')")
    run_work = follow.run_work
    late: list[Future[list[Any]]] = []

    def first_try(task: bytes) -> list[Any]:
        work = pickle.loads(task)
        assert isinstance(work, StageLogBatch)
        with held_up(moving):
            go_on.set_result(None)
            until(lambda: moving.target.rows(MERGING))
            return list(work.run())

    def second_try(spark: Any, partitions: Any, **options: Any) -> Any:
        ((work,),) = partitions
        task = pickle.dumps(work)
        outcomes = run_work(spark, partitions, **options)
        late.append(pool.submit(first_try, task))
        go_on.result(timeout=30)
        return outcomes

    go_on: Future[None] = Future()
    with ThreadPoolExecutor(1) as pool:
        with monkeypatch.context() as patched:
            patched.setattr(follow, "run_work", second_try)
            moving.run()
    (staged,) = [each.result() for each in late]
    assert staged[-1].rows == 3, "the first try did the same work"
    assert sorted(moving.target.rows("SELECT n, note FROM events")) == [(1, "one"), (2, "two"), (2, "two")]
