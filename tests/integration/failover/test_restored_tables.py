"""Tables of a target that are restored alone, while the progress stays: it must be noticed."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.failover.cases import Outcome, case, goes_on
from tests.integration.failover.own_servers import until
from tests.integration.failover.tasks import DATABASE, Task
from tieout.errors import UnsupportedError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.mariadb import MariaDB
    from tests.servers.server import Server

NOTICED = "was restored or created again without the progress"


@pytest.fixture(params=["postgres", "mariadb"])
def target(request: pytest.FixtureRequest) -> Server:
    server: Server = request.getfixturevalue(request.param)
    return server


@pytest.fixture
def task(mariadb_b: MariaDB, target: Server, spark: SparkSession, tmp_path: Path) -> Iterator[Task]:
    task = Task(mariadb_b, target, spark, tmp_path).make()
    task.write(range(10))
    task.run()
    yield task
    for server in (mariadb_b, target):
        server.drop_database(DATABASE)


def dumped(target: Server) -> str:
    """The two tables alone, as the engine's own tool dumps them: made anew when they are restored."""
    if target.scheme == "postgresql":
        command = ["pg_dump", "--dbname", target.url(DATABASE), "--clean", "--table=keyed", "--table=bare"]
    else:
        ends = [f"--host={target.host}", f"--port={target.port}", f"--user={target.user}"]
        command = ["mariadb-dump", "--no-defaults", "--protocol=tcp", *ends, f"--password={target.password}"]
        command += [DATABASE, "keyed", "bare"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def restore(target: Server, dump: str) -> None:
    wait_for_the_next_second(target)
    if target.scheme == "postgresql":
        command = ["psql", "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--dbname", target.url(DATABASE)]
    else:
        ends = [f"--host={target.host}", f"--port={target.port}", f"--user={target.user}"]
        command = ["mariadb", "--no-defaults", "--protocol=tcp", *ends, f"--password={target.password}", DATABASE]
    subprocess.run(command, input=dump, check=True, capture_output=True, text=True)


def wait_for_the_next_second(target: Server) -> None:
    """MariaDB says in seconds when a table was made."""
    if target.scheme == "mysql":
        now = int(time.time())
        until(lambda: int(time.time()) > now)


def is_noticed(task: Task) -> None:
    before = task.arrived()
    with pytest.raises(UnsupportedError, match=NOTICED):
        task.run()
    assert task.arrived() == before
    with pytest.raises(UnsupportedError, match=NOTICED):  # nor does it go on if it is asked again
        task.run()


INSERT = "INSERT INTO keyed VALUES (99, 99); INSERT INTO bare VALUES (99, 99)"
UPDATE = "UPDATE keyed SET n = 99 WHERE id = 3; UPDATE bare SET n = 99 WHERE id = 3"
DELETE = "DELETE FROM keyed WHERE id = 3; INSERT INTO bare VALUES (99, 99)"


@case(
    "MariaDB or PostgreSQL, target",
    "tables are restored from a dump that is older than what was applied, without the progress",
    Outcome.STOPS,
    "they were recreated, and lack the rows that were applied last",
)
@pytest.mark.parametrize(
    ("target", "change"),
    [
        pytest.param("postgres", INSERT, id="postgres-insert"),
        pytest.param("postgres", UPDATE, id="postgres-update", marks=pytest.mark.thorough),
        pytest.param("postgres", DELETE, id="postgres-delete"),
        pytest.param("mariadb", INSERT, id="mariadb-insert", marks=pytest.mark.thorough),
        pytest.param("mariadb", UPDATE, id="mariadb-update"),
        pytest.param("mariadb", DELETE, id="mariadb-delete", marks=pytest.mark.thorough),
    ],
    indirect=["target"],
)
def test_tables_that_are_older_than_the_progress(task: Task, target: Server, change: str) -> None:
    dump = dumped(target)
    task.source.execute(DATABASE, change)
    task.run()
    restore(target, dump)
    task.write(range(20, 25))
    is_noticed(task)


def test_one_table_of_two(task: Task, target: Server) -> None:
    dump = dumped(target)
    task.write(range(10, 20))
    task.run()
    kept = target.rows(DATABASE, "SELECT id, n FROM keyed")
    restore(target, dump)
    for row in kept[10:]:
        target.execute(DATABASE, f"INSERT INTO keyed VALUES ({row[0]}, {row[1]})")
    task.write(range(20, 30))
    task.run()
    assert task.arrived() == ([*range(30)], [*range(10)])


def test_tables_that_were_emptied_before_a_change_was_applied(task: Task, target: Server) -> None:
    target.execute(DATABASE, "TRUNCATE TABLE keyed; TRUNCATE TABLE bare")
    task.write(range(10, 20))
    is_noticed(task)


@case(
    "MariaDB or PostgreSQL, target",
    "tables are restored from a dump that has everything that was applied, or are rebuilt or altered",
    Outcome.GOES_ON,
    "they have the rows that were applied last",
)
@pytest.mark.parametrize(
    ("target", "changed"),
    [
        pytest.param("postgres", True, id="postgres-changed"),
        pytest.param("postgres", False, id="postgres-copied only", marks=pytest.mark.thorough),
        pytest.param("mariadb", True, id="mariadb-changed", marks=pytest.mark.thorough),
        pytest.param("mariadb", False, id="mariadb-copied only"),
    ],
    indirect=["target"],
)
def test_tables_that_have_all(task: Task, target: Server, changed: bool) -> None:
    if changed:
        task.write(range(10, 20))
        task.run()
    restore(target, dumped(target))
    task.write(range(20, 25))
    goes_on(task)
    rebuild = "VACUUM FULL keyed" if target.scheme == "postgresql" else "ALTER TABLE keyed FORCE, ADD INDEX (n)"
    target.execute(DATABASE, rebuild)
    task.write(range(25, 30))
    goes_on(task)
