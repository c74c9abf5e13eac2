"""A PostgreSQL source that fails over or is put back."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.failover import own_servers as own
from tests.integration.failover.cases import Outcome, case, goes_on, is_lost
from tests.integration.failover.tasks import DATABASE, Task, begin_a_batch
from tests.servers.postgres import Postgres
from tests.variants import later
from tieout.model.moves import Delivery

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Server

SOURCE = "PostgreSQL, source"


@pytest.fixture
def primary() -> Iterator[Postgres]:
    with own.postgres() as server:
        yield server


@pytest.fixture
def task(primary: Postgres, mariadb_b: Server, spark: SparkSession, tmp_path: Path) -> Iterator[Task]:
    task = Task(primary, mariadb_b, spark, tmp_path).make()
    task.write(range(10))
    task.run()
    task.write(range(10, 20))
    task.run()
    yield task
    mariadb_b.drop_database(DATABASE)


def passes(server: Postgres, lsn: str) -> None:
    """Its log comes further than this."""
    while server.rows(None, f"SELECT pg_current_wal_insert_lsn() > '{lsn}'::pg_lsn") != [(True,)]:
        server.execute(None, "SELECT pg_logical_emit_message(false, 'other', repeat('x', 1000))")


def end(server: Postgres) -> str:
    return str(server.rows(None, "SELECT pg_current_wal_insert_lsn()::text")[0][0])


@case(
    SOURCE,
    "it is restored from a backup older than what was applied",
    Outcome.LOST,
    "its log lacks the last applied commit",
)
def test_an_earlier_copy(task: Task, primary: Postgres) -> None:
    """Its log has passed the place that was reached."""
    kept = own.copy(primary)
    task.write(range(20, 70))
    task.run()
    before = end(primary)
    own.put_back(primary, kept)
    task.write(range(100, 200))
    passes(primary, before)
    is_lost(task, "does not contain the last transaction that was applied")


@case(
    SOURCE,
    "it is restored from a backup that has everything that was applied",
    Outcome.GOES_ON,
    "its log has the last applied commit",
)
@pytest.mark.thorough
def test_a_copy_that_is_not_older(task: Task, primary: Postgres) -> None:
    task.write(range(20, 30))
    task.run()
    kept = own.copy(primary)
    task.write(range(30, 40))  # nobody has read these
    own.put_back(primary, kept)
    task.write(range(50, 90))
    goes_on(task)
    assert task.arrived()[1] == [*range(30), *range(50, 90)]


@case(SOURCE, "it is restarted, or crashes", Outcome.GOES_ON, "the slot, or the last applied commit, is where it was")
@pytest.mark.parametrize("how", [later(signal.SIGINT), signal.SIGKILL])
def test_a_restart(task: Task, primary: Postgres, how: signal.Signals) -> None:
    primary.execute(None, "SELECT pg_logical_emit_message(true, 'other', ''); CHECKPOINT")
    own.restart(primary, how)
    task.write(range(20, 30))
    goes_on(task)


def test_a_restart_after_a_batch_of_which_the_position_is_not_stored(task: Task, primary: Postgres) -> None:
    task = replace(task, delivery=Delivery.AT_LEAST_ONCE)
    task.write(range(20, 30))
    begin_a_batch(task)
    own.restart(primary, signal.SIGKILL)
    task.run()
    keyed, bare = task.arrived()
    assert keyed == list(range(30))
    assert bare == sorted([*range(30), *range(20, 30)]), "the batch comes twice, and no other row"
    found = task.target.rows(DATABASE, "SELECT DISTINCT consistent FROM tieout_table_versions")
    assert [int(consistent) for (consistent,) in found] == [0], "the source never had these rows twice"


def test_an_earlier_copy_after_a_batch_of_which_the_position_is_not_stored(task: Task, primary: Postgres) -> None:
    """It has all up to the position that is stored."""
    task = replace(task, delivery=Delivery.AT_LEAST_ONCE)
    kept = own.copy(primary)
    task.write(range(20, 70))
    begin_a_batch(task)
    before = end(primary)
    own.put_back(primary, kept)
    task.write(range(100, 200))
    passes(primary, before)
    is_lost(task, "does not contain the last transaction that was applied")


@case(SOURCE, "a standby without the slot is promoted", Outcome.LOST, "no slot retained its log for the task")
@pytest.mark.thorough
def test_a_promoted_standby(task: Task, primary: Postgres) -> None:
    with own.postgres_standby(primary) as standby:
        task.write(range(20, 30))
        task.run()
        own.wait_for_standby(primary, standby)
        own.promote_postgres(standby)
        other = task.reading_from(standby)
        other.write(range(30, 60))
        is_lost(other, "does not exist")


@case(
    SOURCE,
    "a standby that lags is promoted, and the slot is created on it by hand",
    Outcome.LOST,
    "the slot does not return what was written before it was created",
)
@pytest.mark.thorough
def test_a_slot_that_was_made_by_hand(task: Task, primary: Postgres) -> None:
    """Its log passes the place that was reached, and the slot starts after the last transaction that was applied."""
    ((slot,),) = primary.rows(DATABASE, "SELECT slot_name FROM pg_replication_slots")
    with own.postgres_standby(primary) as standby:
        own.wait_for_standby(primary, standby)
        standby.execute(None, "ALTER SYSTEM SET primary_conninfo = ''")
        standby.execute(None, "SELECT pg_reload_conf()")
        own.until(lambda: not standby.rows(None, "SELECT 1 FROM pg_stat_wal_receiver"))
        primary.execute(None, "SELECT pg_logical_emit_message(true, 'other', repeat('x', 1000000))")
        task.run()
        before = end(primary)
        own.promote_postgres(standby)
        other = task.reading_from(standby)
        other.write(range(30, 40))
        standby.execute(DATABASE, f"SELECT pg_create_logical_replication_slot('{slot}', 'pgoutput')")
        other.write(range(50, 60))
        passes(standby, before)
        is_lost(other, "starts after the last transaction")


@case(
    SOURCE,
    "it is restored from an earlier backup, and the slot is created by hand",
    Outcome.LOST,
    "the slot starts after the last transaction that was read",
)
@pytest.mark.thorough
def test_an_earlier_copy_with_a_slot_made_by_hand(task: Task, primary: Postgres) -> None:
    """Others write, so the mover is far behind its last transaction when the server is put back."""
    kept = own.copy(primary)
    task.write(range(20, 30))
    task.run()
    primary.execute(DATABASE, "CREATE TABLE other (t text)")
    for _ in range(30):
        primary.execute(DATABASE, "INSERT INTO other SELECT repeat('x', 1000) FROM generate_series(1, 100)")
    task.run()
    ((end,),) = primary.rows(None, "SELECT pg_current_wal_insert_lsn()::text")
    ((slot, at),) = primary.rows(DATABASE, "SELECT slot_name, confirmed_flush_lsn::text FROM pg_replication_slots")
    own.put_back(primary, kept)
    task.write(range(100, 150))
    primary.execute(DATABASE, "SELECT pg_logical_emit_message(true, 'other', repeat('x', 200000))")
    primary.execute(DATABASE, f"SELECT pg_drop_replication_slot('{slot}')")
    primary.execute(DATABASE, f"SELECT pg_create_logical_replication_slot('{slot}', 'pgoutput')")
    passed = f"SELECT confirmed_flush_lsn > '{at}'::pg_lsn AND confirmed_flush_lsn < '{end}'::pg_lsn "
    assert primary.rows(DATABASE, f"{passed} FROM pg_replication_slots") == [(True,)], "or it would be noticed anyway"
    while primary.rows(None, f"SELECT pg_current_wal_insert_lsn() > '{end}'::pg_lsn") != [(True,)]:
        primary.execute(None, "SELECT pg_logical_emit_message(false, 'other', repeat('x', 100000))")
    is_lost(task, "starts after the last transaction")


@case(SOURCE, "another server with a slot of this name", Outcome.LOST, "its system identifier is different")
@pytest.mark.thorough
def test_another_server(task: Task, primary: Postgres) -> None:
    ((slot,),) = primary.rows(DATABASE, "SELECT slot_name FROM pg_replication_slots")
    with own.postgres() as server:
        server.create_database(DATABASE)
        server.execute(DATABASE, "CREATE TABLE keyed (id INT PRIMARY KEY, n INT); CREATE TABLE bare (id INT, n INT)")
        server.execute(DATABASE, f"ALTER TABLE bare REPLICA IDENTITY FULL; CREATE PUBLICATION {slot} FOR ALL TABLES")
        server.execute(DATABASE, f"SELECT pg_create_logical_replication_slot('{slot}', 'pgoutput')")
        passes(server, end(primary))
        other = task.reading_from(server)
        other.write(range(100, 140))
        is_lost(other, "another server")
