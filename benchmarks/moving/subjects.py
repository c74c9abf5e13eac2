"""The databases that rows are moved between, and the task that moves them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.databases import MARIADB, POSTGRES, TABLE
from tests.servers.mariadb import start_mariadb
from tests.servers.postgres import start_postgres
from tests.servers.server import Database
from tieout import api
from tieout.model.move_status import MoveStatus
from tieout.model.moves import Delivery
from tieout.model.requests import MoveOptions, MoveRequest, TableRequest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INDEXES = {"bench_qty": "qty", "bench_changed_at": "changed_at"}


@dataclass(frozen=True)
class Subject:
    """A pair to move between. Its name is that of its cases."""

    name: str
    source: Database
    target: Database

    @property
    def request(self) -> MoveRequest:
        return MoveRequest(
            f"bench-{self.name}",
            self.source.url,
            self.target.url,
            (TableRequest(TABLE),),
            Delivery.EXACTLY_ONCE,
            options=MoveOptions(),
        )

    def move(self, spark: SparkSession, scratch: Path) -> tuple[float, MoveStatus]:
        """Seconds until all is moved that was in the log, and the last status."""
        began = time.perf_counter()
        status = api.run_move(self.request, spark=spark, meta=meta(scratch), until_caught_up=True)
        return time.perf_counter() - began, status

    def forget(self, scratch: Path) -> None:
        """The task and the target's table: it begins anew."""
        api.drop_move(self.request, meta(scratch))
        self.target.execute(f"DROP TABLE IF EXISTS {TABLE}")


def meta(scratch: Path) -> str:
    return f"sqlite:///{scratch}/meta.db"


@contextmanager
def subjects() -> Iterator[dict[str, Subject]]:
    """Servers with logs, until the block ends: two of MariaDB, two of PostgreSQL.

    A log is of a whole server: on a shared one the source's would hold all that is written to the target.
    """
    with ExitStack() as stack:
        mariadb = [start_mariadb(time_zone="+00:00", server_id=number, settings=MARIADB) for number in (1, 2)]
        postgres = [
            start_postgres(settings={**POSTGRES, "wal_level": "logical", "max_wal_senders": "4"}) for _ in range(2)
        ]
        for server in (*mariadb, *postgres):
            stack.callback(server.stop)
        old, new, left, right = (stack.enter_context(server.fresh_database()) for server in (*mariadb, *postgres))
        yield {
            "mariadb": Subject("mariadb", old, new),
            "mariadb-postgres": Subject("mariadb-postgres", old, right),
            "postgres": Subject("postgres", left, right),
        }


def add_indexes(database: Database) -> None:
    for name, column in INDEXES.items():
        database.execute(f"CREATE INDEX {name} ON {TABLE} ({column})")
