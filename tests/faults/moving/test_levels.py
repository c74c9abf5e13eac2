"""What each consistency shows: a reader polls the target while a streaming mover runs, is killed and starts again.

Under `transaction` money is never created or lost at any instant; under `table` each table is always a state that the
source had; under `row` each row is. Each test also sees the next stronger promise broken: with a weaker consistency in
its place it would fail.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from tests.background import in_background
from tests.faults.moving.cases import Case
from tests.faults.moving.mover import Mover
from tests.faults.moving.workload import scheme

if TYPE_CHECKING:
    from tests.servers.server import Database

CASES = [
    pytest.param(Case("mariadb-postgres", "exactly-once", "any", 1), id="mariadb-postgres"),
    pytest.param(Case("postgres-mariadb", "exactly-once", "any", 1), id="postgres-mariadb", marks=pytest.mark.thorough),
    pytest.param(Case("mariadb-mariadb", "exactly-once", "any", 1), id="mariadb-mariadb", marks=pytest.mark.thorough),
]
ROWS, START = 64, 1_000
TABLES = {
    "accounts": "CREATE TABLE accounts (id INT PRIMARY KEY, balance INT NOT NULL)",
    "savings": "CREATE TABLE savings (id INT PRIMARY KEY, balance INT NOT NULL)",
    "pairs": "CREATE TABLE pairs (id INT PRIMARY KEY, n INT NOT NULL, twice INT NOT NULL)",
}
TOTALS = """
SELECT (SELECT SUM(balance) FROM accounts), (SELECT SUM(balance) FROM savings),
  (SELECT COUNT(*) FROM pairs WHERE twice <> 2 * n), (SELECT COUNT(*) FROM pairs)"""


@dataclass
class Seen:
    """What a reader saw that no state of the source has."""

    looks: int = 0
    transaction: list[Any] = field(default_factory=list)
    table: list[Any] = field(default_factory=list)
    row: list[Any] = field(default_factory=list)


def looking(target: Database, seen: Seen) -> Callable[[Event], None]:
    """One statement sees one moment of the target. Money goes from one account to another, and from one saving to
    another in the same transaction; the tables together have it all, and so has each table.
    """

    def work(done: Event) -> None:
        with target.connect() as connection, connection.cursor() as cursor:
            while not done.wait(0.002):
                cursor.execute(TOTALS)
                accounts, savings, torn, pairs = (int(value) for value in cursor.fetchone())
                seen.looks += 1
                # Each transaction moves as much into all accounts as out of all savings.
                if accounts + savings != 2 * ROWS * START:
                    seen.transaction.append((accounts, savings))
                if accounts % 10 or savings % 10:
                    seen.table.append((accounts, savings))
                if torn or pairs != ROWS:
                    seen.row.append((torn, pairs))

    return work


def writing(source: Database) -> Callable[[Event], None]:
    """Each transaction moves ten from savings to accounts or back, in amounts of seven and three to two rows each."""

    def work(done: Event) -> None:
        chance = random.Random(7)
        with source.connect() as connection, connection.cursor() as cursor:
            while not done.wait(0.002):
                sign = chance.choice((-1, 1))
                cursor.execute("BEGIN")
                for table, direction in (("accounts", sign), ("savings", -sign)):
                    for amount, row in zip((7, 3), chance.sample(range(ROWS), 2), strict=True):
                        cursor.execute(
                            f"UPDATE {table} SET balance = balance + %s WHERE id = %s", [direction * amount, row]
                        )
                # In this order: for MariaDB, n has its new value behind its assignment.
                cursor.execute("UPDATE pairs SET twice = 2 * n + 2, n = n + 1 WHERE id = %s", [chance.randrange(ROWS)])
                cursor.execute("COMMIT")

    return work


@pytest.fixture
def pair(case: Case, request: pytest.FixtureRequest) -> tuple[Database, Database]:
    from tests.faults.moving.cases import PAIRS

    source, target = (request.getfixturevalue(name) for name in PAIRS[case.pair])
    for database in (source, target):
        for statement in TABLES.values():
            database.execute(statement)
    for table in ("accounts", "savings"):
        source.executemany(f"INSERT INTO {table} VALUES (%s, %s)", [(n, START) for n in range(ROWS)])
    source.executemany("INSERT INTO pairs VALUES (%s, 0, 0)", [(n,) for n in range(ROWS)])
    return source, target


@contextmanager
def locked(target: Database, statement: str) -> Iterator[None]:
    """Rows that somebody holds: whoever merges them has to wait."""
    with target.connect() as connection, connection.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute(f"{statement} FOR UPDATE")
        cursor.fetchall()
        yield
        cursor.execute("ROLLBACK")


def merging(target: Database) -> int:
    """How many connections are merging at this moment."""
    if scheme(target) == "mysql":
        statement = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'DELETE t FROM%%'"
    else:
        statement = (
            "SELECT COUNT(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'DELETE FROM%%' "
            "AND application_name = 'tieout mover'"
        )
    ((count,),) = target.rows(statement.replace("%%", "%"))
    return int(count)


def until(condition: Callable[[], bool], what: str, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


@pytest.fixture
def followed(
    pair: tuple[Database, Database], mover: Callable[..., Mover], request: pytest.FixtureRequest
) -> Callable[[str], tuple[Seen, list[int]]]:
    """Copies; then follows with a consistency, under writes, with two kills; returns what a reader saw, and how many
    connections merged at once while rows of two lanes were locked.
    """
    source, target = pair

    def follow(consistency: str) -> tuple[Seen, list[int]]:
        # More lanes than rows that are locked, so that some go on.
        task = mover("exactly-once", consistency, batch_bytes=20_000, merge_connections=6)
        task.asked["tables"] = list(TABLES)
        copied = task.run()
        assert copied.code == 0, copied.words
        seen, at_once = Seen(), []
        with in_background(writing(source)), in_background(looking(target, seen)):
            for _ in range(2):
                process = task.start(until_caught_up=False)
                try:
                    until(applies(target), "the mover applied nothing")
                    with locked(target, "SELECT * FROM savings WHERE id IN (1, 2, 3)"):
                        until(lambda: merging(target) > 0, "nobody merged")
                        time.sleep(0.7)  # what is to be seen meanwhile
                        at_once.append(merging(target))
                    time.sleep(0.3)
                finally:
                    process.kill()
                    task.ended(process)
        last = task.run()
        assert last.code == 0, last.words
        for table in TABLES:
            statement = f"SELECT * FROM {table}"
            assert sorted(target.rows(statement)) == sorted(source.rows(statement)), table
        assert seen.looks > 100
        return seen, at_once

    return follow


def applies(target: Database) -> Callable[[], bool]:
    """True once a mover has applied something since."""

    def changed() -> int:
        ((total,),) = target.rows("SELECT SUM(n) FROM pairs")
        return int(total)

    before = changed()
    return lambda: changed() != before


def test_transaction_never_creates_or_loses_money(followed: Callable[[str], tuple[Seen, list[int]]]) -> None:
    seen, at_once = followed("transaction")
    assert (seen.transaction, seen.table, seen.row) == ([], [], [])
    assert set(at_once) == {1}, "one connection merges everything"


def test_table_shows_states_that_each_table_had(followed: Callable[[str], tuple[Seen, list[int]]]) -> None:
    seen, _ = followed("table")
    assert (seen.table, seen.row) == ([], [])
    assert seen.transaction, "tables were merged together: this is transaction"


def test_row_shows_rows_as_they_were(followed: Callable[[str], tuple[Seen, list[int]]]) -> None:
    seen, at_once = followed("row")
    assert seen.row == []
    assert seen.table, "all rows of a table were merged together: this is table"
    assert max(at_once) > 1, "one connection merged everything"
