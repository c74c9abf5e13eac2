"""Movers that are killed while lanes are at three positions, and those that go on from there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.faults.moving.cases import PAIRS, Case
from tests.faults.moving.mover import Mover
from tests.faults.moving.test_levels import locked, until

if TYPE_CHECKING:
    from tests.servers.server import Database

# Each transaction is a batch: PostgreSQL's log is cut by bytes, not by transactions.
CASES = [
    pytest.param(Case("mariadb-postgres", "any", "any", 1), id="mariadb-postgres"),
    pytest.param(Case("mariadb-mariadb", "any", "any", 1), id="mariadb-mariadb", marks=pytest.mark.thorough),
]
TABLES = {
    "first": "CREATE TABLE first (id INT PRIMARY KEY, n INT NOT NULL)",
    "events": "CREATE TABLE events (n INT NOT NULL)",
    "slow": "CREATE TABLE slow (id INT PRIMARY KEY, n INT NOT NULL)",
}


@pytest.fixture
def pair(case: Case, request: pytest.FixtureRequest) -> tuple[Database, Database]:
    source, target = (request.getfixturevalue(name) for name in PAIRS[case.pair])
    for database in (source, target):
        for statement in TABLES.values():
            database.execute(statement)
    for table in ("first", "slow"):
        source.execute(f"INSERT INTO {table} VALUES (1, 0)")
    return source, target


def change(source: Database, *statements: str) -> None:
    with source.connect() as connection, connection.cursor() as cursor:
        for statement in ("BEGIN", *statements, "COMMIT"):
            cursor.execute(statement)


def events(database: Database) -> list[int]:
    return sorted(int(n) for (n,) in database.rows("SELECT n FROM events"))


def value(database: Database, table: str) -> int:
    ((n,),) = database.rows(f"SELECT n FROM {table} WHERE id = 1")
    return int(n)


@pytest.fixture
def task(pair: tuple[Database, Database], mover: Callable[..., Mover]) -> Mover:
    """Of each transaction one batch."""
    task = mover("exactly-once", "table", batch_bytes=1, merge_connections=3)
    task.asked["tables"] = list(TABLES)
    copied = task.run()
    assert copied.code == 0, copied.words
    return task


@pytest.fixture
def apart(pair: tuple[Database, Database], task: Mover) -> Mover:
    """`first` has merged one batch, `events` two, and `slow`, in which somebody holds a row, none."""
    source, target = pair
    process = task.start(until_caught_up=False)
    try:
        for n in (-2, -1):  # the second one is behind what it catches up with first
            change(source, f"UPDATE first SET n = {n}")
            until(lambda n=n: value(target, "first") == n, "it follows nothing")  # type: ignore[misc]
        with locked(target, "SELECT * FROM slow"):
            change(
                source, "UPDATE first SET n = 1", "INSERT INTO events VALUES (1)", "UPDATE slow SET n = 1 WHERE id = 1"
            )
            until(lambda: (value(target, "first"), events(target)) == (1, [1]), "it merged nothing")
            change(source, "INSERT INTO events VALUES (2)", "UPDATE slow SET n = 2 WHERE id = 1")
            until(lambda: events(target) == [1, 2], "it merged no second batch")
            process.kill()
            task.ended(process)
    finally:
        process.kill()
    assert value(target, "slow") == 0
    return task


def goes_on(task: Mover, **changes: Any) -> dict[str, Any]:
    ended = task.run(**changes)
    assert ended.code == 0, ended.words
    assert ended.status is not None
    return ended.status


def is_equal(pair: tuple[Database, Database]) -> bool:
    return all(len({tuple(sorted(side.rows(f"SELECT * FROM {table}"))) for side in pair}) == 1 for table in TABLES)


def test_lanes_are_levelled_step_by_step_at_the_first_try(pair: tuple[Database, Database], apart: Mover) -> None:
    change(pair[0], "UPDATE first SET n = 3", "INSERT INTO events VALUES (3)", "UPDATE slow SET n = 3")
    assert "waiting" not in goes_on(apart)["states"]
    assert is_equal(pair)


def test_at_most_once_repeats_nothing_of_lanes_that_are_further(pair: tuple[Database, Database], apart: Mover) -> None:
    """It gives up the batch that it had begun, and knows still who has merged what comes after it."""
    source, target = pair
    killed = apart.run(("after-source-commit", 1), delivery="at-most-once")
    assert killed.killed, killed.words
    change(source, "INSERT INTO events VALUES (3)", "UPDATE slow SET n = 3")
    goes_on(apart, delivery="at-most-once")
    assert events(target) == [1, 2, 3]
    assert value(target, "slow") == 3


def test_exactly_once_goes_on_at_the_first_try_after_a_batch_of_at_least_once(
    pair: tuple[Database, Database], task: Mover
) -> None:
    """The lanes that have applied that batch again begin the next one where it ended."""
    source, _ = pair
    changes = "UPDATE first SET n = n + 1", "UPDATE slow SET n = n + 1"
    change(source, *changes)
    killed = task.run(("after-merge", 1), delivery="at-least-once")
    assert killed.killed, killed.words
    for _ in range(2):
        change(source, *changes, "INSERT INTO events VALUES (3)")
    assert "waiting" not in goes_on(task)["states"]
    assert is_equal(pair)
