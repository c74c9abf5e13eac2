"""The databases that histories are played on, through their plain drivers. Knows no Tieout."""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pymysql

from tests.faults.kills.record import Row
from tests.faults.kills.writer import COLUMNS, TABLES, say
from tests.servers.mariadb import MariaDB, start_mariadb
from tests.servers.postgres import Postgres, start_postgres
from tests.servers.server import fresh_name

PAIRS = {
    "mariadb-postgres": ("mariadb", "postgres"),
    "postgres-mariadb": ("postgres", "mariadb_b"),
    "mariadb-mariadb": ("mariadb", "mariadb_b"),
    "postgres-postgres": ("postgres", "postgres"),
    "sqlite-sqlite": ("sqlite", "sqlite"),
}


@dataclass(frozen=True)
class Place:
    """One database. `engine` is mariadb, postgres or sqlite."""

    engine: str
    name: str
    server: MariaDB | Postgres | None = None

    @property
    def url(self) -> str:
        return f"sqlite:///{quote(self.name)}" if self.server is None else self.server.url(self.name)

    def open(self) -> Any:
        """A connection in autocommit mode, which any thread may use."""
        if self.server is None:
            return sqlite3.connect(self.name, timeout=60, isolation_level=None, check_same_thread=False)
        server = self.server
        if self.engine == "postgres":
            return psycopg.connect(
                host=server.host,
                port=server.port,
                user=server.user,
                password=server.password,
                dbname=self.name,
                autocommit=True,
            )
        return pymysql.connect(
            host=server.host,
            port=server.port,
            user=server.user,
            password=server.password,
            database=self.name,
            autocommit=True,
            ssl_disabled=True,
        )

    def create(self) -> None:
        with closing(self.open()) as connection:
            for table, statement in TABLES.items():
                say(self.engine, connection, statement)
                if self.engine == "postgres" and "PRIMARY KEY" not in statement:
                    say(self.engine, connection, f"ALTER TABLE {table} REPLICA IDENTITY FULL")

    def cut(self, spared: int) -> None:
        """Ends all connections but one, whoever has them."""
        if self.server is None:
            return
        if self.engine == "postgres":
            end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> %s"
            self.server.rows(None, end, self.name, spared)
            return
        connections = "SELECT id FROM information_schema.processlist WHERE db = %s AND id <> %s"
        for (connection,) in self.server.rows(None, connections, self.name, spared):
            with suppress(pymysql.err.OperationalError):  # it has gone by itself
                self.server.execute(None, f"KILL {connection}")

    def contents(self) -> dict[str, Counter[Row]]:
        """All rows of all tables; of a table that is not there, none."""
        with closing(self.open()) as connection:
            return {table: self._rows(connection, table) for table in TABLES}

    def _rows(self, connection: Any, table: str) -> Counter[Row]:
        with suppress(psycopg.errors.UndefinedTable, pymysql.err.ProgrammingError, sqlite3.OperationalError):
            return Counter(map(tuple, say(self.engine, connection, f"SELECT {', '.join(COLUMNS[table])} FROM {table}")))
        return Counter()


@dataclass
class Servers:
    """Servers that are started when they are first asked for, and stopped at the end; those that are given stay."""

    given: dict[str, MariaDB | Postgres] = field(default_factory=dict)
    _stack: ExitStack = field(default_factory=ExitStack)

    def close(self) -> None:
        self._stack.close()

    @cached_property
    def mariadb(self) -> MariaDB:
        return self._started("mariadb", lambda: start_mariadb(time_zone="+02:00", server_id=1))

    @cached_property
    def mariadb_b(self) -> MariaDB:
        return self._started("mariadb_b", lambda: start_mariadb(time_zone="-07:00", server_id=2))

    @cached_property
    def postgres(self) -> Postgres:
        return self._started("postgres", start_postgres)

    def _started(self, name: str, start: Any) -> Any:
        if name in self.given:
            return self.given[name]
        server = start()
        self._stack.callback(server.stop)
        return server

    @contextmanager
    def places(self, pair: str, directory: Path, *, wal: bool = False) -> Iterator[tuple[Place, Place]]:
        """Source and target, both empty. `wal`: files of SQLite have a write-ahead log."""
        source, target = PAIRS[pair]
        with self._place(source, directory / "source.db", wal) as left:
            with self._place(target, directory / "target.db", wal) as right:
                yield left, right

    @contextmanager
    def _place(self, kind: str, file: Path, wal: bool) -> Iterator[Place]:
        if kind == "sqlite":
            with closing(sqlite3.connect(file)) as connection:
                connection.execute(f"PRAGMA journal_mode = {'WAL' if wal else 'DELETE'}")
                connection.execute("VACUUM")
            yield Place("sqlite", str(file))
            return
        server = getattr(self, kind)
        place = Place("mariadb" if kind.startswith("mariadb") else "postgres", fresh_name(), server)
        server.create_database(place.name)
        try:
            yield place
        finally:
            if place.engine == "postgres":
                _drop_slots(server, place.name)
            server.drop_database(place.name)


def _drop_slots(server: Postgres, database: str) -> None:
    """Who still reads from one is a dead mover's executor."""
    readers = "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE database = %s AND active"
    drop = "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = %s"
    for _ in range(100):
        server.rows(None, readers, database)
        with suppress(psycopg.errors.ObjectInUse):
            server.rows(None, drop, database)
            return
        time.sleep(0.05)
