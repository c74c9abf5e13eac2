"""Changes that a target refuses, when it merges them, stop their table alone: nothing of them is applied."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.moving.pairs import ACROSS, Moving, way
from tests.variants import later
from tieout.model.moves import Consistency, Delivery

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(params=[ACROSS[0], *map(later, ACROSS[1:])])
def moving(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Iterator[Moving]:
    yield from way(request, request.param, spark, tmp_path)


@pytest.mark.parametrize("consistency", [Consistency.TRANSACTION, Consistency.ROW, later(Consistency.TABLE)])
@pytest.mark.parametrize("delivery", [Delivery.EXACTLY_ONCE, Delivery.AT_MOST_ONCE, later(Delivery.AT_LEAST_ONCE)])
def test_a_rule_that_only_the_target_has(moving: Moving, delivery: Delivery, consistency: Consistency) -> None:
    """The other table gets all of the batch, with at-most-once, too, which does not read it again."""
    for table, rule in (("strict", ", CHECK (n < 100)"), ("other", "")):
        moving.source.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, n INT NOT NULL)")
        moving.target.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, n INT NOT NULL{rule})")
        moving.source.execute(f"INSERT INTO {table} VALUES (1, 1), (2, 2)")
    asked = moving.asking("strict", "other", delivery=delivery)
    asked = replace(asked, request=replace(asked.request, consistency=consistency))
    asked.run()
    for table in ("strict", "other"):
        moving.source.execute(f"UPDATE {table} SET n = 500 WHERE id = 1")
        moving.source.execute(f"INSERT INTO {table} VALUES (3, 3)")
    status = asked.run()
    assert status["state"] == "stopped in part"
    stopped = {table["source"].split(".")[1]: table["stopped"] for table in status["tables"]}
    assert "check" in stopped["strict"].lower() or "constraint" in stopped["strict"].lower()
    assert stopped["other"] is None
    assert asked.rows("other")[0] == asked.rows("other")[1]
    assert (1, 500) not in asked.rows("strict")[1]
    moving.source.execute("INSERT INTO other VALUES (4, 4)")
    asked.run()
    assert asked.rows("other")[0] == asked.rows("other")[1]


@pytest.mark.parametrize("consistency", [Consistency.TRANSACTION, Consistency.TABLE])
def test_two_tables_at_once(moving: Moving, consistency: Consistency) -> None:
    """With at-most-once, the changes of both are lost: neither is followed without them."""
    names = ("one", "two", "other")
    for table in names:
        moving.source.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, n INT NOT NULL)")
        rule = "" if table == "other" else ", CHECK (n < 100)"
        moving.target.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, n INT NOT NULL{rule})")
        moving.source.execute(f"INSERT INTO {table} VALUES (1, 1)")
    asked = moving.asking(*names, delivery=Delivery.AT_MOST_ONCE)
    asked = replace(asked, request=replace(asked.request, consistency=consistency))
    asked.run()
    for table in names:
        moving.source.execute(f"UPDATE {table} SET n = 500 WHERE id = 1")
    status = asked.run()
    assert [bool(table["stopped"]) for table in by_name(status)] == [True, False, True]
    assert asked.rows("other")[0] == asked.rows("other")[1]


def by_name(status: dict[str, Any]) -> list[dict[str, Any]]:
    return sorted(status["tables"], key=lambda table: str(table["source"]))


@pytest.mark.parametrize("moving", ["postgres-mariadb"], indirect=True)
def test_at_most_once_follows_no_wider_column_when_its_changes_are_lost(moving: Moving) -> None:
    for table in ("strict", "other"):
        moving.source.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, n INT NOT NULL)")
        moving.source.execute(f"INSERT INTO {table} VALUES (1, 1)")
    asked = moving.asking("strict", "other", delivery=Delivery.AT_MOST_ONCE)
    asked.run()
    moving.source.execute("ALTER TABLE strict ALTER n DROP NOT NULL")
    moving.source.execute("INSERT INTO strict VALUES (2, NULL)")
    moving.source.execute("INSERT INTO other VALUES (2, 2)")
    status = asked.run()
    stopped = [bool(table["stopped"]) for table in by_name(status)]
    assert stopped == [False, True] or asked.rows("strict")[0] == asked.rows("strict")[1]


@pytest.mark.parametrize("moving", ["mariadb-postgres"], indirect=True)
@pytest.mark.parametrize("consistency", [Consistency.TABLE, later(Consistency.TRANSACTION)])
def test_no_rows_without_a_key_are_doubled_by_what_is_refused_elsewhere(
    moving: Moving, consistency: Consistency
) -> None:
    """With at-least-once: nobody was killed."""
    for database, rule in ((moving.source, ""), (moving.target, ", CHECK (n < 100)")):
        database.execute(f"CREATE TABLE strict (id INT PRIMARY KEY, n INT NOT NULL{rule})")
        database.execute("CREATE TABLE bare (n INT NOT NULL)")
    moving.source.execute("INSERT INTO strict VALUES (1, 1)")
    moving.source.execute("INSERT INTO bare VALUES (1)")
    asked = moving.asking("strict", "bare", delivery=Delivery.AT_LEAST_ONCE)
    asked = replace(asked, request=replace(asked.request, consistency=consistency))
    asked.run()
    moving.source.execute("INSERT INTO bare VALUES (2)")
    moving.source.execute("UPDATE strict SET n = 500")
    status = asked.run()
    assert [bool(table["stopped"]) for table in by_name(status)] == [False, True]
    assert sorted(asked.rows("bare")[1]) == [(1,), (2,)]
