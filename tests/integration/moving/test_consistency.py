"""What a reader of the target sees while changes are applied: whole transactions of the source, and nothing else."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import pytest

from tests.background import in_background
from tests.integration.moving.pairs import Moving
from tests.variants import later
from tieout import api
from tieout.errors import FencedError, TieoutError, UsageError
from tieout.meta import Wanted
from tieout.model.documents import move_status_document

if TYPE_CHECKING:
    from tests.servers.server import Database

ACCOUNTS, START = 100, 1_000


def create_bank(database: Database) -> None:
    database.execute("CREATE TABLE accounts (id INT PRIMARY KEY, balance INT NOT NULL)")
    database.execute("CREATE TABLE savings (id INT PRIMARY KEY, balance INT NOT NULL)")


def transfers(database: Database) -> Callable[[Event], None]:
    """Money goes from one account to another, also between the two tables: the sum stays."""

    def work(done: Event) -> None:
        chance = random.Random(5)
        with database.connect() as connection, connection.cursor() as cursor:
            while not done.wait(0.002):
                amount = chance.randint(1, 50)
                ends = [(chance.choice(["accounts", "savings"]), chance.randrange(ACCOUNTS)) for _ in range(2)]
                cursor.execute("BEGIN")
                for (table, account), sign in zip(ends, (-1, 1), strict=True):
                    cursor.execute(f"UPDATE {table} SET balance = balance + %s WHERE id = %s", [sign * amount, account])
                cursor.execute("COMMIT")

    return work


def sums(database: Database, seen: list[Any]) -> Callable[[Event], None]:
    """What one statement of a reader finds, over and over."""
    total = "SELECT (SELECT SUM(balance) FROM accounts) + (SELECT SUM(balance) FROM savings)"

    def work(done: Event) -> None:
        with database.connect() as connection, connection.cursor() as cursor:
            while not done.wait(0.001):
                cursor.execute(total)
                seen.append(int(cursor.fetchone()[0]))

    return work


@pytest.mark.parametrize("moving", ["mariadb-postgres", later("postgres-mariadb")], indirect=True)
def test_no_part_of_a_transaction_is_ever_seen(moving: Moving) -> None:
    for database in (moving.source, moving.target):
        create_bank(database)
    for table in ("accounts", "savings"):
        moving.source.executemany(
            f"INSERT INTO {table} VALUES (%s, %s)", [(account, START) for account in range(ACCOUNTS)]
        )
    asked = moving.asking("accounts", "savings", chunk_rows=30, poll_seconds=0.02)
    seen: list[int] = []
    with in_background(transfers(moving.source)):
        status = asked.run()
        assert status["consistent_from"] is not None
        with in_background(sums(moving.target, seen)):
            deadline = time.monotonic() + 3
            while time.monotonic() < deadline:
                asked.run()
    assert len(seen) > 100
    assert set(seen) == {2 * ACCOUNTS * START}
    asked.run()
    assert moving.rows("accounts")[0] == moving.rows("accounts")[1]
    balances = {balance for _, balance in moving.rows("accounts")[1]}
    assert balances != {START}, "nothing was transferred"


@pytest.mark.parametrize("moving", [later("mariadb-postgres"), "postgres-mariadb"], indirect=True)
def test_a_second_mover_stops_the_first_or_does_not_start(moving: Moving) -> None:
    """One that is heard of is left alone; one that was thought dead, and is not, can't write any more."""
    for database in (moving.source, moving.target):
        create_bank(database)
    moving.source.executemany("INSERT INTO accounts VALUES (%s, %s)", [(n, START) for n in range(ACCOUNTS)])
    asked = moving.asking("accounts", poll_seconds=0.02)
    asked.run()
    ended: list[BaseException] = []
    first = Thread(target=_follow, args=[asked, ended])
    first.start()
    try:
        _until(lambda: _told(asked).get("state") == "following", lambda: (_told(asked), ended))
        with pytest.raises(UsageError, match="is already running"):
            asked.run()
        _until(lambda: _told(asked).get("lag_seconds") == 0.0, lambda: (_told(asked), ended))
        with pytest.raises(UsageError, match="another mover"):
            _run_elsewhere(asked, ended)
        # As one would that had not heard of it for long: it takes the task over.
        _take_over(moving)
        moving.source.execute("UPDATE accounts SET balance = balance + 1")
        first.join(60)
        assert not first.is_alive()
    finally:
        if first.is_alive():
            api.control_move(asked.request.task, Wanted.STOP, asked.meta)
            first.join()
    assert isinstance(ended[0], FencedError)
    assert {balance for _, balance in moving.rows("accounts")[1]} == {START}, "it wrote all the same"
    moving.target.execute(f"UPDATE {_kept(moving, 'progress')} SET heard = 0")  # that one has ended
    asked.run()
    source, target = moving.rows("accounts")
    assert source == target


def _run_elsewhere(asked: Moving, ended: list[BaseException]) -> None:
    """With a meta store that does not know of the first mover. If it runs, why, is what the target says."""
    before = asked.target.rows(f"SELECT * FROM {_kept(asked, 'progress')}")
    status = api.run_move(asked.request, spark=asked.spark, meta=f"{asked.meta}.other", until_caught_up=True)
    raise AssertionError(f"it ran: {status.state}; it found {before}, and the first one ended so: {ended}")


def _take_over(moving: Moving) -> None:
    moving.target.execute(f"UPDATE {_kept(moving, 'fence')} SET epoch = epoch + 1, owner = 'process 1 on elsewhere'")


def _kept(moving: Moving, table: str) -> str:
    return f"_tieout.tieout_{table}" if moving.target.server.scheme == "postgresql" else f"tieout_{table}"


def _follow(asked: Moving, ended: list[BaseException]) -> None:
    try:
        api.run_move(asked.request, spark=asked.spark, meta=asked.meta)
    except (TieoutError, KeyboardInterrupt) as error:
        ended.append(error)


def _told(asked: Moving) -> dict[str, Any]:
    status = api.move_status(asked.request.task, asked.meta)
    return {} if status is None else move_status_document(status)


def _until(condition: Callable[[], object], seen: Callable[[], object], seconds: float = 40) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"it never came so far: {seen()}"
        time.sleep(0.05)
