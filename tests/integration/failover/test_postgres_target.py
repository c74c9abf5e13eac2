"""A PostgreSQL target that fails over, is put back to an earlier copy, or whose answer is lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.failover import own_servers as own
from tests.integration.failover.cases import Outcome, case, goes_on, is_lost
from tests.integration.failover.lost_answers import cut_while_committing
from tests.integration.failover.tasks import DATABASE, Task, following
from tests.servers.postgres import Postgres
from tests.servers.proxy import Proxy
from tieout.model.moves import Consistency, Delivery

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Server

TARGET = "PostgreSQL, target"


@pytest.fixture
def target() -> Iterator[Postgres]:
    with own.postgres(synchronous_commit="on") as server:
        yield server


@pytest.fixture
def task(mariadb: Server, target: Postgres, spark: SparkSession, tmp_path: Path) -> Iterator[Task]:
    """From MariaDB, which keeps its log for everybody."""
    task = Task(mariadb, target, spark, tmp_path).make()
    task.write(range(10))
    task.run()
    yield task
    mariadb.drop_database(DATABASE)


@case(TARGET, "it is restored from an earlier backup", Outcome.GOES_ON, "rows and progress are restored together")
@pytest.mark.thorough
def test_an_earlier_copy(task: Task, target: Postgres) -> None:
    kept = own.copy(target)
    task.write(range(10, 20))
    task.run()
    own.put_back(target, kept)
    assert task.arrived()[0] == [*range(10)]
    task.write(range(20, 30))
    goes_on(task)


@case(
    TARGET,
    "it is restored, and a PostgreSQL or SQLite source has discarded the log",
    Outcome.LOST,
    "the source keeps its log only until it is applied",
)
@pytest.mark.thorough
def test_an_earlier_copy_whose_log_is_gone(spark: SparkSession, target: Postgres, tmp_path: Path) -> None:
    with own.postgres() as source:
        task = Task(source, target, spark, tmp_path).make()
        task.write(range(10))
        task.run()
        kept = own.copy(target)
        for numbers in (range(10, 20), range(20, 30)):
            task.write(numbers)
            task.run()
        own.put_back(target, kept)
        is_lost(task, "starts at")


@case(TARGET, "a replica that lags is promoted", Outcome.GOES_ON, "its rows and its progress are of the same moment")
@pytest.mark.thorough
def test_a_promoted_standby(task: Task, target: Postgres) -> None:
    with own.postgres_standby(target) as standby:
        own.wait_for_standby(target, standby)
        standby.execute(None, "SELECT pg_wal_replay_pause()")
        task.write(range(10, 20))
        task.run()
        own.promote_postgres(standby)
        other = replace(task, target=standby)
        other.write(range(20, 30))
        goes_on(other)


@case(
    TARGET,
    "it is restored from an earlier backup, with at-most-once",
    Outcome.LOST,
    "a batch that was applied once is never applied again",
)
@pytest.mark.thorough
def test_an_earlier_copy_at_most_once(task: Task, target: Postgres) -> None:
    once = replace(task, delivery=Delivery.AT_MOST_ONCE)
    once.write(range(10, 15))
    once.run()
    kept = own.copy(target)
    for numbers in (range(15, 20), range(20, 25)):
        once.write(numbers)
        once.run()
    own.put_back(target, kept)
    once.write(range(25, 30))
    is_lost(once, "earlier copy")


@case(
    TARGET,
    "it is restored from an earlier backup while the mover runs",
    Outcome.GOES_ON,
    "the mover reads its progress again and continues from there",
)
@pytest.mark.thorough
def test_an_earlier_copy_under_a_mover_that_runs(task: Task, target: Postgres) -> None:
    with following(task):
        kept = own.copy(target)
        own.until(lambda: task.state() == "following")
        task.write(range(10, 20))
        own.until(task.is_equal)
        own.put_back(target, kept)
        task.write(range(20, 30))
        own.until(lambda: len(task.arrived()[1]) >= 30)
    assert task.is_equal(), task.arrived()


@case(
    "PostgreSQL, target",
    "a connection is lost while COMMIT waits for a replica",
    Outcome.GOES_ON,
    "a batch is applied only at its own start position, and the first attempt was committed",
)
def test_an_answer_that_is_lost(task: Task, target: Postgres) -> None:
    def count() -> int:
        """How many wait for a replica."""
        return int(target.rows(None, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")[0][0])

    with cut_while_committing(task, "_tieout.tieout_progress") as cut:
        blocked = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%%SET applied%%'"
        cut.merge_until(lambda: target.rows(None, blocked))
        target.execute(None, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        target.execute(None, "SELECT pg_reload_conf()")
        own.until(lambda: target.rows(None, "SHOW synchronous_standby_names") == [("nobody",)])
        waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%%tieout_fence%%'"
        cut.now(lambda: count() == 1, lambda: target.rows(None, waiting))
        target.execute(None, "ALTER SYSTEM RESET synchronous_standby_names")
        target.execute(None, "SELECT pg_reload_conf()")


@pytest.mark.thorough
@pytest.mark.parametrize("consistency", [Consistency.TRANSACTION, Consistency.TABLE])
def test_a_lane_that_commits_after_its_answer_was_lost(task: Task, target: Postgres, consistency: Consistency) -> None:
    """The mover is back before the server commits: it waits for the lane, and merges nothing of it again."""
    proxy = Proxy(target.host, target.port)
    far = replace(task, target=replace(target, port=proxy.port), consistency=consistency)
    committing = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'advisory' AND query = 'COMMIT'"
    waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%tieout_fence%'"
    try:
        with following(far):
            task.write([10])
            own.until(task.is_equal)
            target.execute(DATABASE, HANGING)
            with target.connect(DATABASE) as connection, connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_lock(4711)")
                task.write([11])
                own.until(lambda: target.rows(DATABASE, committing))
                proxy.cut()
                own.until(lambda: target.rows(DATABASE, waiting))
                cursor.execute("SELECT pg_advisory_unlock(4711)")
            own.until(lambda: len(task.arrived()[0]) == 12 and len(task.arrived()[1]) >= 12)
        target.execute(DATABASE, "DROP TRIGGER hangs ON public.bare")
        goes_on(task)
    finally:
        proxy.close()


HANGING = """
CREATE FUNCTION hangs() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN PERFORM pg_advisory_xact_lock_shared(4711); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER hangs AFTER INSERT ON public.bare DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION hangs();
ALTER TABLE public.bare ENABLE ALWAYS TRIGGER hangs"""
"""Lets a transaction that wrote to `bare` wait when it commits."""
