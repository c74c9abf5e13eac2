"""A shop that goes on selling: its database is written to while it is moved."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from threading import Event, Thread
from uuid import UUID

from tieout.demo.data import CUSTOMERS, ORDERS

_PAUSE_SECONDS = 0.01


@contextmanager
def selling(path: Path) -> Iterator[Callable[[], None]]:
    """Until it is closed by what the block gets, or the block ends; what went wrong with it is raised there."""
    closed, errors = Event(), list[Exception]()

    def sell() -> None:
        try:
            _sell(path, closed)
        except Exception as error:
            errors.append(error)

    thread = Thread(target=sell, name="tieout-demo-shop", daemon=True)

    def close() -> None:
        closed.set()
        thread.join()

    thread.start()
    try:
        yield close
    finally:
        close()
    if errors:
        raise errors[0]


def _sell(path: Path, closed: Event) -> None:
    random = Random(7)
    with closing(sqlite3.connect(path, timeout=60)) as connection:
        number = ORDERS
        while not closed.wait(_PAUSE_SECONDS):
            number += 1
            with connection:
                _order(connection, random, number)


def _order(connection: sqlite3.Connection, random: Random, number: int) -> None:
    """One transaction: rows that come, change, get another key and go, in every table."""
    customer, moment = random.randint(1, CUSTOMERS), "2026-02-01 09:30:00.000000"
    total = f"{random.randrange(100, 50_000) / 100:.2f}"
    connection.execute("INSERT INTO orders VALUES (?, ?, ?, 'placed', ?, NULL)", (number, customer, moment, total))
    connection.execute("INSERT INTO order_items VALUES (?, 1, 'SKU-007', 1, ?, NULL)", (number, total))
    connection.execute("UPDATE order_items SET line = line + 10 WHERE order_id = ? AND line = 1", (number - 1,))
    connection.execute("UPDATE customers SET credit = credit - 1 WHERE id = ?", (customer,))
    event = str(UUID(int=random.getrandbits(128), version=4))
    connection.execute("INSERT INTO events VALUES (?, ?, 'checkout', NULL)", (event, moment))
    connection.execute("DELETE FROM visits WHERE rowid = (SELECT min(rowid) FROM visits)")
    connection.execute("INSERT INTO visits VALUES ('/thanks', 3, NULL)")
