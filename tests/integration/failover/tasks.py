"""A task whose servers may be replaced: what it moves is looked at with the drivers alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.failover.own_servers import until
from tieout import api
from tieout.connectors.sql.target import SqlTarget
from tieout.errors import UnsupportedError, UsageError
from tieout.meta import Wanted
from tieout.model.documents import move_status_document
from tieout.model.moves import Consistency, Delivery
from tieout.model.requests import MoveOptions, MoveRequest, TableRequest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Server

KEYED, BARE = "CREATE TABLE keyed (id INT PRIMARY KEY, n INT)", "CREATE TABLE bare (id INT, n INT)"
DATABASE = "shop"


@dataclass(frozen=True)
class Task:
    """One database of the same name on both sides; two tables, of which one has no key."""

    source: Server
    target: Server
    spark: SparkSession
    directory: Path
    delivery: Delivery = Delivery.EXACTLY_ONCE
    consistency: Consistency = Consistency.TRANSACTION

    @property
    def request(self) -> MoveRequest:
        return MoveRequest(
            "shop",
            self.source.url(DATABASE),
            self.target.url(DATABASE),
            tables=(TableRequest("keyed"), TableRequest("bare")),
            delivery=self.delivery,
            consistency=self.consistency,
            options=MoveOptions(),
        )

    def make(self) -> Task:
        for server in (self.source, self.target):
            server.create_database(DATABASE)
        self.source.execute(DATABASE, f"{KEYED}; {BARE}")
        if self.source.scheme == "postgresql":
            self.source.execute(DATABASE, "ALTER TABLE bare REPLICA IDENTITY FULL")
        return self

    def write(self, numbers: Iterable[int]) -> None:
        """A transaction for each."""
        with self.source.connect(DATABASE) as connection, connection.cursor() as cursor:
            for number in numbers:
                cursor.execute("BEGIN")
                cursor.execute("INSERT INTO keyed VALUES (%s, %s)", (number, number))
                cursor.execute("INSERT INTO bare VALUES (%s, %s)", (number, number))
                cursor.execute("COMMIT")

    @property
    def meta(self) -> str:
        return f"sqlite:///{self.directory}/meta.db"

    def run(self) -> dict[str, Any]:
        """Until it has caught up."""
        status = api.run_move(self.request, spark=self.spark, meta=self.meta, until_caught_up=True)
        return move_status_document(status)

    def state(self) -> str | None:
        """What its mover says of itself."""
        status = api.move_status(self.request.task, self.meta)
        return None if status is None else status.state

    def reading_from(self, source: Server) -> Task:
        return replace(self, source=source)

    def arrived(self) -> tuple[list[int], list[int]]:
        """The numbers in both tables of the target."""
        keyed, bare = (self.target.rows(DATABASE, f"SELECT id FROM {table}") for table in ("keyed", "bare"))
        return sorted(number for (number,) in keyed), sorted(number for (number,) in bare)

    def is_equal(self) -> bool:
        tables = ("keyed", "bare")
        return all(
            sorted(self.source.rows(DATABASE, f"SELECT id, n FROM {table}"))
            == sorted(self.target.rows(DATABASE, f"SELECT id, n FROM {table}"))
            for table in tables
        )


def begin_a_batch(task: Task) -> None:
    """A mover that ends when it has applied a batch, before it stores the position (at-least-once)."""

    def fail(*arguments: object, **more: object) -> None:
        raise UnsupportedError("not stored")

    before = task.arrived()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(SqlTarget, "record", fail)
        with pytest.raises(UnsupportedError, match="not stored"):
            task.run()
    assert task.arrived() != before


@contextmanager
def following(task: Task) -> Iterator[None]:
    """The task runs in the background until the block ends, and then stops in order."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            api.run_move(task.request, spark=task.spark, meta=task.meta)
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=run)
    thread.start()
    try:
        until(lambda: errors or task.state() == "following")
        yield
    finally:
        if thread.is_alive():
            with suppress(UsageError):  # it has just ended by itself
                api.control_move(task.request.task, Wanted.STOP, task.meta)
        thread.join()
    if errors:
        raise errors[0]
