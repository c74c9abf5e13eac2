"""A MariaDB target that fails over, is put back to an earlier copy, or whose answer is lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.failover import own_servers as own
from tests.integration.failover.cases import Outcome, case, goes_on, is_lost
from tests.integration.failover.lost_answers import cut_while_committing
from tests.integration.failover.tasks import DATABASE, Task
from tests.servers.mariadb import MariaDB
from tieout.model.moves import Consistency, Delivery

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Server

TARGET = "MariaDB, target"


@pytest.fixture
def target() -> Iterator[MariaDB]:
    with own.mariadb(server_id=31) as server:
        yield server


@pytest.fixture
def task(mariadb: Server, target: MariaDB, spark: SparkSession, tmp_path: Path) -> Iterator[Task]:
    task = Task(mariadb, target, spark, tmp_path).make()
    task.write(range(10))
    task.run()
    yield task
    mariadb.drop_database(DATABASE)


@case(TARGET, "it is restored from an earlier backup", Outcome.GOES_ON, "rows and progress are restored together")
def test_an_earlier_copy(task: Task, target: MariaDB) -> None:
    kept = own.copy(target)
    task.write(range(10, 20))
    task.run()
    own.put_back(target, kept)
    assert task.arrived()[0] == [*range(10)]
    task.write(range(20, 30))
    goes_on(task)


@case(
    TARGET,
    "it is restored from an earlier backup, with at-most-once",
    Outcome.LOST,
    "a batch that was applied once is never applied again",
)
@pytest.mark.thorough
def test_an_earlier_copy_at_most_once(task: Task, target: MariaDB) -> None:
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


@case(TARGET, "a replica that lags is promoted", Outcome.GOES_ON, "its rows and its progress are of the same moment")
@pytest.mark.thorough
def test_a_promoted_replica(task: Task, target: MariaDB) -> None:
    with own.mariadb_replica(target, 32) as replica:
        own.wait_for_replica(target, replica)
        replica.execute(None, "STOP SLAVE")
        task.write(range(10, 20))
        task.run()
        own.promote_mariadb(replica)
        other = replace(task, target=replica)
        assert other.arrived()[1] == [*range(10)]
        other.write(range(20, 30))
        goes_on(other)


@case(
    TARGET,
    "a connection is lost while COMMIT waits for a replica (semi-synchronous, AFTER_SYNC)",
    Outcome.GOES_ON,
    "a batch is applied only at its own start position, and the first attempt was committed",
)
@pytest.mark.parametrize("consistency", [Consistency.TRANSACTION, Consistency.TABLE])
def test_an_answer_that_is_lost(task: Task, target: MariaDB, consistency: Consistency) -> None:
    def waits(statement: str) -> bool:
        waiting = f"SELECT 1 FROM information_schema.processlist WHERE info LIKE '{statement}' AND time_ms > 100"
        return bool(target.rows(None, waiting))

    with cut_while_committing(replace(task, consistency=consistency), "tieout_progress") as cut:
        cut.merge_until(lambda: waits("UPDATE%%SET applied%%"))
        target.execute(
            None,
            "SET GLOBAL rpl_semi_sync_master_wait_point = AFTER_SYNC, GLOBAL rpl_semi_sync_master_timeout = 600000, "
            "GLOBAL rpl_semi_sync_master_wait_no_slave = ON, GLOBAL rpl_semi_sync_master_enabled = ON",
        )
        try:
            # The next try waits for the first one's fence.
            cut.now(lambda: waits("COMMIT"), lambda: waits("SELECT epoch%%FOR UPDATE"))
        finally:
            target.execute(None, "SET GLOBAL rpl_semi_sync_master_enabled = OFF")
