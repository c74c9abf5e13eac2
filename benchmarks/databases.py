"""Private servers with settings for reading, and the table in them: the same file on every side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pymysql

from benchmarks.rows import COLUMNS, write_text
from tests.servers.mariadb import start_mariadb
from tests.servers.postgres import start_postgres
from tests.servers.server import Database, Server

TABLE = "bench"

POSTGRES = {
    "shared_buffers": "2GB",  # two databases
    "effective_cache_size": "4GB",
    "maintenance_work_mem": "256MB",
    "max_wal_size": "4GB",
    "log_statement": "none",
    # What the server writes on its own account in the middle of a case is noise, and looks like a change.
    "checkpoint_timeout": "1h",
    "autovacuum": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
}
MARIADB = {
    "innodb-buffer-pool-size": "1G",
    "innodb-log-file-size": "512M",
    "innodb-stats-auto-recalc": "OFF",
    "general-log": "OFF",
}

_TYPES: dict[str, tuple[str, ...]] = {
    "postgresql": (
        "bigint",
        "int",
        "bigint",
        "numeric(12,2)",
        "double precision",
        "timestamp(6)",
        "varchar(80)",
        "varchar(20)",
    ),
    "mysql": ("bigint", "int", "bigint", "decimal(12,2)", "double", "datetime(6)", "varchar(80)", "varchar(20)"),
}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two databases that hold the table."""

    source: Database
    target: Database


@dataclass(frozen=True)
class Databases:
    """Two MariaDB servers, and a PostgreSQL server with two databases. Only the targets are ever changed."""

    mariadb: Pair
    postgres: Pair

    @property
    def across(self) -> Pair:
        return Pair(self.mariadb.source, self.postgres.target)


@contextmanager
def servers() -> Iterator[Databases]:
    """The servers, with empty databases, until the block ends."""
    with ExitStack() as stack:

        def database(server: Server) -> Database:
            return stack.enter_context(server.fresh_database())

        def started(start: Callable[..., Server], settings: Mapping[str, str], **arguments: Any) -> Server:
            server = start(settings=settings, **arguments)
            stack.callback(server.stop)
            return server

        first = started(start_mariadb, MARIADB, time_zone="+00:00", server_id=1)
        second = started(start_mariadb, MARIADB, time_zone="+00:00", server_id=2)
        postgres = started(start_postgres, POSTGRES)
        yield Databases(
            Pair(database(first), database(second)),
            Pair(database(postgres), database(postgres)),
        )


def load_all(databases: Iterable[Database], rows: pl.DataFrame, scratch: Path) -> None:
    """The table, made anew from one file, in each of the databases."""
    file = scratch / "rows.tsv"
    write_text(rows, file)
    for database in dict.fromkeys(databases):
        _load(database, file)
    file.unlink()


def _load(database: Database, file: Path) -> None:
    database.execute(f"DROP TABLE IF EXISTS {TABLE}")
    scheme = database.server.scheme
    nullable = {"name"}
    columns = ", ".join(
        f"{name} {kind}{'' if name in nullable else ' NOT NULL'}"
        for name, kind in zip(COLUMNS, _TYPES[scheme], strict=True)
    )
    {"postgresql": _load_postgres, "mysql": _load_mariadb}[scheme](database, columns, file)
    settle(database)


def settle(database: Database) -> None:
    """After changes: statistics, and an end of what the server does in the background."""
    if database.server.scheme == "postgresql":
        database.execute(f"VACUUM ANALYZE {TABLE}")
        database.execute("CHECKPOINT")
    else:
        database.execute(f"ANALYZE NO_WRITE_TO_BINLOG TABLE {TABLE}")
        database.execute("SET GLOBAL innodb_max_purge_lag_wait = 0")


def _load_postgres(database: Database, columns: str, file: Path) -> None:
    database.execute(f"CREATE TABLE {TABLE} ({columns})")
    with database.connect() as connection, connection.cursor() as cursor, file.open("rb") as data:
        with cursor.copy(f"COPY {TABLE} FROM STDIN") as copy:
            while block := data.read(1 << 20):
                copy.write(block)
    database.execute(f"ALTER TABLE {TABLE} ADD PRIMARY KEY (id)")


def _load_mariadb(database: Database, columns: str, file: Path) -> None:
    server = database.server
    database.execute(f"CREATE TABLE {TABLE} ({columns}, PRIMARY KEY (id)) ENGINE = InnoDB")
    with (
        pymysql.connect(
            host=server.host,
            port=server.port,
            user=server.user,
            password=server.password,
            database=database.name,
            charset="utf8mb4",
            autocommit=True,
            local_infile=True,
        ) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("SET sql_log_bin = 0, unique_checks = 0")
        cursor.execute(f"LOAD DATA LOCAL INFILE %s INTO TABLE {TABLE} CHARACTER SET utf8mb4", (str(file),))
