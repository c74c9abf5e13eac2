"""A MariaDB source that fails over, is put back, or begins its log anew."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.failover import own_servers as own
from tests.integration.failover.cases import Outcome, case, goes_on, is_lost
from tests.integration.failover.tasks import DATABASE, Task, begin_a_batch, following
from tests.servers.mariadb import MariaDB
from tests.variants import later
from tieout.model.moves import Consistency, Delivery

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Server

SOURCE = "MariaDB, source"


@pytest.fixture
def primary() -> Iterator[MariaDB]:
    with own.mariadb() as server:
        yield server


@pytest.fixture
def task(primary: MariaDB, postgres: Server, spark: SparkSession, tmp_path: Path) -> Iterator[Task]:
    task = Task(primary, postgres, spark, tmp_path).make()
    task.write(range(10))
    task.run()
    yield task
    postgres.drop_database(DATABASE)


@case(SOURCE, "a replica that has every transaction is promoted", Outcome.GOES_ON, "its log has the same GTIDs")
def test_a_promoted_replica(task: Task, primary: MariaDB) -> None:
    """Its files have lower numbers than those that were read before."""
    with own.mariadb_replica(primary) as replica:
        primary.execute(None, "; ".join(["FLUSH BINARY LOGS"] * 3))
        task.write(range(10, 20))
        task.run()
        own.wait_for_replica(primary, replica)
        own.promote_mariadb(replica)
        other = task.reading_from(replica)
        other.write(range(20, 50))
        goes_on(other)
        assert other.arrived() == (list(range(50)), list(range(50)))
        # Once more, from the position that was taken over.
        replica.execute(None, "FLUSH BINARY LOGS")
        other.write(range(50, 60))
        goes_on(other)


def test_a_promoted_replica_without_the_log_of_a_quiet_table(task: Task, primary: MariaDB) -> None:
    """Its lane was where the task is, long ago: nobody has to find that place again."""
    task = replace(task, consistency=Consistency.TABLE)
    with own.mariadb_replica(primary) as replica:
        with following(task):
            task.write(range(10, 20))
            own.until(task.is_equal)
            own.wait_for_replica(primary, replica)
            replica.execute(None, "FLUSH BINARY LOGS")
            primary.execute(DATABASE, "INSERT INTO bare VALUES (20, 20)")
            own.until(task.is_equal)
        own.wait_for_replica(primary, replica)
        ((last, *_),) = replica.rows(None, "SHOW MASTER STATUS")
        replica.execute(None, f"PURGE BINARY LOGS TO '{last}'")
        own.promote_mariadb(replica)
        other = task.reading_from(replica)
        other.write(range(30, 40))
        goes_on(other)


@case(SOURCE, "a replica that lacks applied transactions is promoted", Outcome.LOST, "it never received them")
def test_a_promoted_replica_that_lacks_something(task: Task, primary: MariaDB) -> None:
    with own.mariadb_replica(primary) as replica:
        own.wait_for_replica(primary, replica)
        replica.execute(None, "STOP SLAVE")
        task.write(range(10, 20))
        task.run()
        own.promote_mariadb(replica)
        other = task.reading_from(replica)
        is_lost(other, "it ends at")
        other.write(range(30, 60))
        is_lost(other, "never exactly")


@pytest.mark.parametrize("received", [True, later(False)])
def test_a_promoted_replica_after_a_batch_of_which_the_position_is_not_stored(
    task: Task, primary: MariaDB, received: bool
) -> None:
    """Its rows may be in the target (at-least-once), so the replica has to have them, too."""
    task = replace(task, delivery=Delivery.AT_LEAST_ONCE)
    task.run()
    with own.mariadb_replica(primary) as replica:
        own.wait_for_replica(primary, replica)
        if not received:
            replica.execute(None, "STOP SLAVE")
        task.write(range(10, 20))
        begin_a_batch(task)
        if received:
            own.wait_for_replica(primary, replica)
        own.promote_mariadb(replica)
        other = task.reading_from(replica)
        other.write(range(20, 30))
        if not received:
            is_lost(other)
            return
        other.run()
        keyed, bare = other.arrived()
        assert keyed == list(range(30))
        assert bare == sorted([*range(30), *range(10, 20)]), "the batch comes twice, and no other row"


def test_an_earlier_copy_after_a_batch_of_which_the_position_is_not_stored(task: Task, primary: MariaDB) -> None:
    """It has all up to the position that is stored."""
    task = replace(task, delivery=Delivery.AT_LEAST_ONCE)
    task.run()
    kept = own.copy(primary)
    task.write(range(10, 20))
    begin_a_batch(task)
    own.put_back(primary, kept)
    task.write(range(30, 60))
    is_lost(task)


@case(SOURCE, "RESET MASTER", Outcome.LOST, "files of the same names are different files, and GTIDs are reused")
@pytest.mark.thorough
def test_a_log_that_is_begun_anew(task: Task, primary: MariaDB) -> None:
    """Events end in the same places, and the log has grown beyond the one that was read."""
    primary.execute(None, "RESET MASTER")
    task.write(range(100, 130))
    is_lost(task)


@case(SOURCE, "another server with the same server id and file names", Outcome.LOST, "its transactions are different")
@pytest.mark.thorough
def test_another_server(task: Task) -> None:
    with own.mariadb() as server:
        other = task.reading_from(server)
        server.create_database(DATABASE)
        for table in ("keyed (id INT PRIMARY KEY, n INT)", "bare (id INT, n INT)"):
            server.execute(DATABASE, f"CREATE TABLE {table}")
        other.write(range(100, 140))
        is_lost(other)


@case(SOURCE, "it is restored from a backup older than what was applied", Outcome.LOST, "GTIDs are reused")
@pytest.mark.thorough
def test_an_earlier_copy(task: Task, primary: MariaDB) -> None:
    kept = own.copy(primary)
    task.write(range(10, 20))
    task.run()
    own.put_back(primary, kept)
    task.write(range(30, 60))
    is_lost(task)


@case(
    SOURCE,
    "it is restored from a backup older than what was applied, and written to within a second",
    Outcome.LOST,
    "the file of the same name is a different file",
)
@pytest.mark.thorough
def test_an_earlier_copy_within_a_second(task: Task, primary: MariaDB) -> None:
    """The same GTIDs, seconds and offsets: only the rows and the file tell."""

    def write(first: int) -> None:
        for number in range(first, first + 10):
            primary.execute(DATABASE, f"SET timestamp = 1700000000; INSERT INTO keyed VALUES ({number}, {number})")

    kept = own.copy(primary)
    write(10)
    task.run()
    own.put_back(primary, kept)
    write(30)
    is_lost(task, "another transaction with the same GTID")


@case(
    SOURCE,
    "it is restored from a backup that has everything that was applied",
    Outcome.GOES_ON,
    "up to that point it is the same log",
)
@pytest.mark.thorough
def test_a_copy_that_is_not_older(task: Task, primary: MariaDB) -> None:
    kept = own.copy(primary)
    task.write(range(10, 20))  # nobody has read these
    own.put_back(primary, kept)
    task.write(range(30, 60))
    goes_on(task)
    assert task.arrived()[0] == [*range(10), *range(30, 60)]


@case(
    SOURCE,
    "it is restored and recovered from its log, except for a transaction that was applied",
    Outcome.LOST,
    "its GTIDs have a gap",
)
@pytest.mark.thorough
def test_a_recovery_without_a_mistake(task: Task, primary: MariaDB) -> None:
    """As mariadb-binlog does it: the same GTIDs and times, but for what is left out."""
    kept = own.copy(primary)
    ((number,),) = primary.rows(None, "SELECT SUBSTRING_INDEX(@@GLOBAL.gtid_binlog_pos, '-', -1) + 0")

    def write(*numbers: int) -> None:
        for n in numbers:
            row = f"INSERT INTO keyed VALUES ({n}, {n})"
            primary.execute(DATABASE, f"SET timestamp = 1700000000 + {n}, gtid_seq_no = {int(number)} + {n}; {row}")

    write(11, 12, 13)
    task.run()
    own.put_back(primary, kept)
    write(11, 13)
    task.write(range(30, 40))
    is_lost(task, "lacks the transactions between")


@case(SOURCE, "it is restarted, or crashes", Outcome.GOES_ON, "the file and its last events are the same")
@pytest.mark.parametrize("how", [signal.SIGTERM, later(signal.SIGKILL)])
def test_a_restart(task: Task, primary: MariaDB, how: signal.Signals) -> None:
    own.restart(primary, how)
    task.write(range(10, 20))
    goes_on(task)


@case(SOURCE, "it is started with a different log name (`log_bin`)", Outcome.LOST, "its GTIDs start over")
@pytest.mark.thorough
def test_another_base_name(task: Task, primary: MariaDB) -> None:
    own.restart(primary, None, "--log-bin=another")
    task.write(range(10, 40))
    is_lost(task)


@case(SOURCE, "log files that were not read are purged", Outcome.LOST, "the log starts after them")
@pytest.mark.thorough
def test_purged_files(task: Task, primary: MariaDB) -> None:
    task.write(range(10, 20))
    primary.execute(None, "FLUSH BINARY LOGS; FLUSH BINARY LOGS")
    task.write(range(20, 30))
    ((last, *_),) = primary.rows(None, "SHOW MASTER STATUS")
    own.until(lambda: _purged(primary, last))
    is_lost(task)


@case(
    SOURCE,
    "unread log files are purged, and two servers wrote to one GTID domain",
    Outcome.LOST,
    "the last number of a domain does not identify its transactions",
)
@pytest.mark.thorough
def test_purged_files_of_two_writers(task: Task, primary: MariaDB) -> None:
    """Without gtid_strict_mode, what two servers wrote side by side comes with lower numbers."""
    primary.execute(DATABASE, "SET server_id = 2, gtid_seq_no = 5; INSERT INTO keyed VALUES (77, 77)")
    primary.execute(None, "FLUSH BINARY LOGS")
    ((last, *_),) = primary.rows(None, "SHOW MASTER STATUS")
    own.until(lambda: _purged(primary, last))
    task.write(range(20, 30))
    is_lost(task)


def _purged(server: MariaDB, upto: str) -> bool:
    server.execute(None, f"PURGE BINARY LOGS TO '{upto}'")
    return bool(server.rows(None, "SHOW BINARY LOGS")[0][0] == upto)


@case(
    SOURCE,
    "it is restored from an earlier backup, and replicates again what it had from another server",
    Outcome.LOST,
    "the last transactions of its own domain are different",
)
@pytest.mark.thorough
def test_an_earlier_copy_with_another_domain(postgres: Server, spark: SparkSession, tmp_path: Path) -> None:
    """The very last transaction came from elsewhere, and comes again: the same GTID and the same moment."""
    with (
        own.mariadb(1, log_slave_updates="ON", skip_slave_start="ON") as source,
        own.mariadb(5, gtid_domain_id="1") as elsewhere,
    ):
        task = Task(source, postgres, spark, tmp_path).make()
        elsewhere.execute(None, "CREATE DATABASE other; CREATE TABLE other.t (i INT PRIMARY KEY)")
        own.replicate(elsewhere, source)
        own.wait_for_replica(elsewhere, source)
        task.write(range(10))
        task.run()
        source.execute(None, "STOP SLAVE")
        kept = own.copy(source)
        task.write(range(10, 20))
        for number in range(5):
            elsewhere.execute(None, f"INSERT INTO other.t VALUES ({number})")
        source.execute(None, "START SLAVE")
        own.until(lambda: source.rows(None, "SELECT COUNT(*) FROM other.t") == [(5,)])
        goes_on(task)
        source.execute(None, "FLUSH BINARY LOGS")
        goes_on(task)
        own.put_back(source, kept)
        task.write(range(30, 40))
        source.execute(None, "FLUSH BINARY LOGS")
        source.execute(None, "START SLAVE")
        own.until(lambda: source.rows(None, "SELECT COUNT(*) FROM other.t") == [(5,)])
        is_lost(task, "another transaction with the same GTID")
    postgres.drop_database(DATABASE)
