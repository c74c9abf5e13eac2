"""Tasks that were begun before positions told logs apart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.failover import own_servers as own
from tests.integration.failover.cases import goes_on, is_lost
from tests.integration.failover.tasks import DATABASE, Task
from tieout.connectors.sql.progress_layout import LAYOUT
from tieout.errors import UnsupportedError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Server

AS_IT_WAS = r"""
UPDATE _tieout.tieout_progress SET
  began = regexp_replace(began, '[#~!].*$', ''), applied = regexp_replace(applied, '[#~!].*$', '');
UPDATE _tieout.tieout_chunks SET held = regexp_replace(held, '[#~!].*$', '');
DROP VIEW _tieout.tieout_table_versions;
DROP TABLE _tieout.tieout_lanes, _tieout.tieout_restarts;
ALTER TABLE _tieout.tieout_progress DROP COLUMN batch_end, DROP COLUMN shown, DROP COLUMN committed, DROP COLUMN batch;
ALTER TABLE _tieout.tieout_columns DROP COLUMN target_table, DROP COLUMN follows;
DROP TABLE _tieout.tieout_version"""
"""The first layout, with positions as they were kept then."""


@pytest.fixture
def task(mariadb: Server, postgres: Server, spark: SparkSession, tmp_path: Path) -> Iterator[Task]:
    task = Task(mariadb, postgres, spark, tmp_path).make()
    for numbers in (range(10), range(10, 20)):
        task.write(numbers)
        task.run()
    yield task
    mariadb.drop_database(DATABASE)
    postgres.drop_database(DATABASE)


def layout(task: Task) -> int:
    ((version,),) = task.target.rows(DATABASE, "SELECT version FROM _tieout.tieout_version")
    return int(version)


def test_it_is_upgraded_where_the_log_proves_it(task: Task) -> None:
    task.target.execute(DATABASE, AS_IT_WAS)
    task.write(range(20, 30))
    goes_on(task)
    assert layout(task) == LAYOUT
    ((applied,),) = task.target.rows(DATABASE, "SELECT applied FROM _tieout.tieout_progress")
    assert "#" in applied
    goes_on(task)
    names = task.target.rows(
        DATABASE, "SELECT source_table, target_table FROM _tieout.tieout_table_versions ORDER BY source_table"
    )
    assert names == [("shop.bare", "public.bare"), ("shop.keyed", "public.keyed")]


def test_an_upgrade_that_was_interrupted_goes_on(task: Task) -> None:
    task.target.execute(DATABASE, "DROP TABLE _tieout.tieout_version")
    task.write(range(20, 30))
    goes_on(task)
    assert layout(task) == LAYOUT


def test_the_second_layout_is_upgraded(task: Task) -> None:
    """A table that was altered since is no table that was restored: nothing is known of it yet."""
    task.target.execute(DATABASE, "DROP TABLE _tieout.tieout_last_rows; UPDATE _tieout.tieout_version SET version = 2")
    task.write(range(20, 30))
    goes_on(task)
    task.target.execute(DATABASE, "VACUUM FULL keyed")
    goes_on(task)
    assert layout(task) == LAYOUT


def test_it_is_refused_where_nothing_proves_it(spark: SparkSession, postgres: Server, tmp_path: Path) -> None:
    """The slot of PostgreSQL stands where the last batch but one ended."""
    with own.postgres() as source:
        task = Task(source, postgres, spark, tmp_path).make()
        for numbers in (range(10), range(10, 20)):
            task.write(numbers)
            task.run()
        task.target.execute(DATABASE, AS_IT_WAS)
        is_lost(task, "older version")
        postgres.drop_database(DATABASE)


def test_a_newer_layout_is_left_alone(task: Task) -> None:
    task.target.execute(DATABASE, f"UPDATE _tieout.tieout_version SET version = {LAYOUT + 1}")
    with pytest.raises(UnsupportedError, match="newer version of Tieout"):
        task.run()
    assert layout(task) == LAYOUT + 1
    task.target.execute(DATABASE, f"UPDATE _tieout.tieout_version SET version = {LAYOUT}")
