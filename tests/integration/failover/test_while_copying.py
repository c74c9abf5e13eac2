"""A source that fails over while rows are copied, before their changes were followed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.failover import own_servers as own
from tests.integration.failover.cases import Outcome, case, is_lost
from tests.integration.failover.tasks import DATABASE, Task

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Server


@pytest.fixture
def target(postgres: Server) -> Iterator[Server]:
    yield postgres
    postgres.drop_database(DATABASE)


class Interrupted(Exception):
    """Rows were copied, and the mover has ended."""


def copied_only(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are written while others are copied: the log has both."""

    def write(name: str) -> None:
        if name == "while-planning" and not written:
            written.append(name)
            task.write(range(10, 15))

    def end(name: str) -> None:
        if name == "after-copy":
            raise Interrupted

    written: list[str] = []
    task.write(range(10))
    with monkeypatch.context() as patched:
        patched.setattr("tieout.connectors.sql.chunk_progress.reach", write)
        patched.setattr("tieout.move.table_mover.reach", end)
        with pytest.raises(Interrupted):
            task.run()
    assert written
    assert task.arrived()[1] == [*range(15)]


@case(
    "MariaDB, source",
    "a replica is promoted while rows are copied",
    Outcome.LOST,
    "it is unknown which changes the copied rows contain",
)
def test_a_promoted_replica(
    target: Server, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with own.mariadb() as primary, own.mariadb_replica(primary) as replica:
        task = Task(primary, target, spark, tmp_path).make()
        copied_only(task, monkeypatch)
        task.write(range(15, 20))
        own.wait_for_replica(primary, replica)
        own.promote_mariadb(replica)
        is_lost(task.reading_from(replica), "another log than when rows were copied")
        task.run()  # the first server has all: it goes on there
        assert task.is_equal()
