"""A small shop in an SQLite file, which goes on selling while the demo moves it.

It has keys of several sorts, decimals, times, Unicode, blobs, and a table without a key.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from threading import Event, Thread
from typing import Any
from uuid import UUID

CUSTOMERS, ORDERS, EVENTS, VISITS = 5_000, 20_000, 18_000, 2_000

_TABLES = """
CREATE TABLE customers (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL, is_active BOOLEAN NOT NULL,
  credit DECIMAL(12, 2), photo BLOB);
CREATE TABLE orders (
  id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers, placed_at TIMESTAMP NOT NULL,
  status TEXT NOT NULL, total DECIMAL(12, 2) NOT NULL, note TEXT);
CREATE TABLE order_items (
  order_id INTEGER NOT NULL REFERENCES orders, line INTEGER NOT NULL, sku TEXT NOT NULL,
  quantity INTEGER NOT NULL, price DECIMAL(10, 2) NOT NULL, weight DOUBLE, PRIMARY KEY (order_id, line));
CREATE TABLE events (
  id TEXT NOT NULL PRIMARY KEY, happened_at TIMESTAMP NOT NULL, kind TEXT NOT NULL, payload JSON);
CREATE TABLE visits (page TEXT, seconds INTEGER, referrer TEXT);
"""

_NAMES = (
    "Zoë Müller",
    "Søren Ødegård",
    "山田 太郎",
    "Łukasz Żak",
    "Ana María Peña",
    "Иван Петров",
    "Nguyễn Văn An",
    "O'Brien",
)
_NOTES = (None, "", "Bitte klingeln, zweiter Stock links", "Leave it with the neighbour 🙂", "fragile – glass inside")
_STATUS = ("placed", "paid", "packed", "sent", "returned")
_KINDS = ("login", "search", "basket", "checkout")
_START = datetime(2026, 1, 5, 8)


def create_shop(path: Path) -> int:
    """Writes the database, the same one every time; returns the number of its rows."""
    random = Random(20260105)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(_TABLES)
        _fill(connection, "customers", 6, _customers(random))
        _fill(connection, "orders", 6, _orders(random))
        _fill(connection, "order_items", 6, _order_items(random))
        _fill(connection, "events", 4, _events(random))
        _fill(connection, "visits", 3, _visits(random))
        connection.commit()
        return connection.total_changes


def _fill(connection: sqlite3.Connection, table: str, columns: int, rows: Iterator[tuple[Any, ...]]) -> None:
    connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * columns)})", rows)


def _customers(random: Random) -> Iterator[tuple[Any, ...]]:
    for number in range(1, CUSTOMERS + 1):
        photo = random.randbytes(48) if number % 3 == 0 else None
        credit = None if number % 7 == 0 else f"{random.randrange(10_000_000) / 100:.2f}"
        name = f"{_NAMES[number % len(_NAMES)]} {number}"
        yield number, name, f"customer{number}@example.com", random.random() < 0.9, credit, photo


def _orders(random: Random) -> Iterator[tuple[Any, ...]]:
    for number in range(1, ORDERS + 1):
        placed = _START + timedelta(seconds=97 * number, microseconds=random.randrange(1_000_000))
        total = f"{random.randrange(100, 500_000) / 100:.2f}"
        note, status = random.choice(_NOTES), random.choice(_STATUS)
        yield number, random.randint(1, CUSTOMERS), _text(placed), status, total, note


def _order_items(random: Random) -> Iterator[tuple[Any, ...]]:
    for order in range(1, ORDERS + 1):
        for line in range(1, 3 + order % 2 + (order % 4 == 0)):
            sku, price = f"SKU-{random.randrange(900):03d}", f"{random.randrange(99, 99_999) / 100:.2f}"
            yield order, line, sku, random.randint(1, 9), price, random.random() * 30


def _events(random: Random) -> Iterator[tuple[Any, ...]]:
    for number in range(EVENTS):
        happened = _START + timedelta(seconds=61 * number, microseconds=random.randrange(1_000_000))
        payload = f'{{"session": {random.getrandbits(60)}, "page": {number % 40}}}' if number % 5 else None
        yield str(UUID(int=random.getrandbits(128), version=4)), _text(happened), random.choice(_KINDS), payload


def _visits(random: Random) -> Iterator[tuple[Any, ...]]:
    for _ in range(VISITS):
        yield f"/page/{random.randrange(12)}", random.randrange(40), random.choice((None, "", "search", "mail"))


def _text(moment: datetime) -> str:
    return moment.isoformat(sep=" ", timespec="microseconds")


_PAUSE_SECONDS = 0.01


@contextmanager
def selling(path: Path) -> Iterator[Callable[[], None]]:
    """Sells until the block calls what it gets, or ends. An error of the seller is raised at the end of the block."""
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
    """One transaction: inserts, updates, changes of a key and deletes, in every table."""
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
