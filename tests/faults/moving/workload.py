"""Writers that change a source while it is moved, at random and from a seed."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import psycopg
import pymysql

if TYPE_CHECKING:
    from tests.servers.server import Database

KEYS = 2_000
_ROTATES = 25
"""After so many transactions, the log goes on in another file."""
_ROTATION = {"mysql": "FLUSH BINARY LOGS", "postgresql": "SELECT pg_switch_wal()"}

_GAVE_WAY = (
    pymysql.err.IntegrityError,
    psycopg.errors.UniqueViolation,
    psycopg.errors.DeadlockDetected,
    sqlite3.IntegrityError,
)

TABLES = {
    "keyed": "CREATE TABLE keyed (id INT PRIMARY KEY, n INT, t VARCHAR(100))",
    "named": "CREATE TABLE named (name VARCHAR(40), part INT, n INT, PRIMARY KEY (name, part))",
    "loose": "CREATE TABLE loose (a INT, b VARCHAR(20))",
    # Rows are only added, no two alike: a row that is lost, or there twice, shows.
    "events": "CREATE TABLE events (n INT, note VARCHAR(20))",
}


def scheme(database: Database) -> str:
    return database.url.partition(":")[0]


def create(database: Database) -> None:
    for statement in TABLES.values():
        database.execute(statement)
    if scheme(database) == "postgresql":
        for table in ("loose", "events"):
            database.execute(f"ALTER TABLE {table} REPLICA IDENTITY FULL")


def fill(database: Database) -> None:
    put = {
        "INSERT INTO keyed VALUES (%s, 0, 'first')": [(n - 50,) for n in range(KEYS)],
        "INSERT INTO named VALUES (%s, %s, 0)": [(f"Name {n}", n % 3) for n in range(KEYS // 4)],
        "INSERT INTO loose VALUES (%s, %s)": [(n % 7, f"copy {n % 11}") for n in range(200)],
    }
    for statement, rows in put.items():
        database.executemany(_of_sqlite(statement) if scheme(database) == "sqlite" else statement, rows)


def transaction(chance: random.Random, cursor: Any) -> None:
    """Some changes of rows, of a sort that any application makes."""
    cursor.execute("INSERT INTO events SELECT COUNT(*), 'event' FROM events")
    for _ in range(chance.randint(1, 6)):
        key, other, number = chance.randrange(KEYS) - 50, chance.randrange(KEYS * 2), chance.randrange(1 << 30)
        match chance.randrange(9):
            case 0 | 1:
                cursor.execute("UPDATE keyed SET n = n + 1, t = %s WHERE id = %s", [f"{number}\t\\", key])
            case 2:
                cursor.execute("DELETE FROM keyed WHERE id = %s", [key])
            case 3:
                cursor.execute(
                    "INSERT INTO keyed SELECT %s, %s, 'new' FROM (SELECT 1 AS one) AS x "
                    "WHERE NOT EXISTS (SELECT 1 FROM keyed WHERE id = %s)",
                    [other, number, other],
                )
            case 4:
                cursor.execute("SELECT 1 FROM keyed WHERE id = %s", [other + KEYS])
                if not cursor.fetchall():
                    cursor.execute("UPDATE keyed SET id = %s WHERE id = %s", [other + KEYS, key])
            case 5:
                cursor.execute("UPDATE named SET n = n + 1 WHERE name = %s", [f"Name {key % 500}"])
            case 6:
                cursor.execute("UPDATE named SET part = part + 3 WHERE name = %s", [f"Name {key % 500}"])
            case 7:
                cursor.execute("INSERT INTO loose VALUES (%s, %s)", [number % 7, f"copy {number % 11}"])
            case 8:
                change = "UPDATE loose SET a = a + 1" if chance.random() < 0.5 else "DELETE FROM loose"
                cursor.execute(f"{change} WHERE a = %s AND b = %s", [number % 7, f"copy {key % 11}"])


def _of_sqlite(statement: str) -> str:
    return statement.replace("%s", "?")


class _SqliteCursor(sqlite3.Cursor):
    """Takes parameters as the drivers of servers do."""

    def execute(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:  # type: ignore[override]
        return super().execute(_of_sqlite(statement), values)


@contextmanager
def _cursor(database: Database) -> Iterator[Any]:
    with database.connect() as connection:
        if scheme(database) == "sqlite":
            connection.execute("PRAGMA busy_timeout = 60000")
            with closing(connection.cursor(_SqliteCursor)) as cursor:
                yield cursor
        else:
            with connection.cursor() as cursor:
                yield cursor


@contextmanager
def writing(database: Database, seed: int, pause: float = 0.02) -> Iterator[list[int]]:
    """A writer until the block ends; the list holds how many transactions it made.

    What another writer was faster with (a key, a lock) is rolled back.
    """
    done, made, errors = Event(), [0], []

    def write() -> None:
        chance = random.Random(seed)
        # One of SQLite's that reads first may not write later, if another one writes meanwhile.
        begin = "BEGIN IMMEDIATE" if scheme(database) == "sqlite" else "BEGIN"
        rotation = _ROTATION.get(scheme(database))
        try:
            with _cursor(database) as cursor:
                while not done.wait(pause):
                    cursor.execute(begin)
                    try:
                        transaction(chance, cursor)
                        cursor.execute("ROLLBACK" if chance.random() < 0.1 else "COMMIT")
                        made[0] += 1
                        if rotation and made[0] % _ROTATES == 0:
                            cursor.execute(rotation)
                    except (*_GAVE_WAY, pymysql.err.OperationalError) as error:
                        if isinstance(error, pymysql.err.OperationalError) and error.args[0] not in (1205, 1213, 1020):
                            raise
                        cursor.execute("ROLLBACK")
        except Exception as error:
            errors.append(error)

    thread = Thread(target=write)
    thread.start()
    try:
        yield made
    finally:
        done.set()
        thread.join()
    assert not errors, errors


def contents(database: Database) -> dict[str, list[Any]]:
    """All rows, in an order of our own."""
    return {table: sorted(database.rows(f"SELECT * FROM {table}")) for table in TABLES}
