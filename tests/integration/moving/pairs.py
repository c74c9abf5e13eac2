"""The four ways that rows are moved, and what tests do on each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.variants import later
from tieout import api
from tieout.model.documents import move_status_document
from tieout.model.moves import Delivery
from tieout.model.requests import MoveOptions, MoveRequest, TableRequest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Database

PAIRS = {
    "mariadb-mariadb": ("mysql_db", "mysql_db_b"),
    "mariadb-postgres": ("mysql_db", "pg_db_b"),
    "postgres-postgres": ("pg_db", "pg_db_b"),
    "postgres-mariadb": ("pg_db", "mysql_db_b"),
}

ACROSS = ("mariadb-postgres", "postgres-mariadb")
"""Each engine as a source and as a target."""
EVERY_WAY = pytest.mark.parametrize("moving", PAIRS, indirect=True)
EACH_ENGINE = pytest.mark.parametrize(
    "moving", [*ACROSS, *(later(pair) for pair in PAIRS if pair not in ACROSS)], indirect=True
)
"""Each engine as both; the ways within one engine are left to make test-faults."""
ONE_WAY = pytest.mark.parametrize("moving", [ACROSS[0], *(later(pair) for pair in ACROSS[1:])], indirect=True)
"""Where one way is nearly like the other."""
ONE_OF_ALL = pytest.mark.parametrize(
    "moving", [ACROSS[0], *(later(pair) for pair in PAIRS if pair != ACROSS[0])], indirect=True
)
"""The same; the ways within one engine are left to make test-faults, too."""


def remarks_of(status: dict[str, Any]) -> list[Any]:
    """What was unexpected, and the changes whose rows were not found."""
    return [*status["remarks"], *status["not_found"]]


@dataclass(frozen=True)
class Moving:
    """Two databases, and a task that moves rows from one to the other."""

    source: Database
    target: Database
    spark: SparkSession
    directory: Path
    request: MoveRequest

    @property
    def meta(self) -> str:
        return f"sqlite:///{self.directory}/meta.db"

    def asking(self, *tables: str, delivery: Delivery = Delivery.EXACTLY_ONCE, **options: Any) -> Moving:
        """The same with other tables and options."""
        request = replace(
            self.request,
            tables=tuple(TableRequest(table) for table in tables),
            delivery=delivery,
            options=MoveOptions(**options),
        )
        return replace(self, request=request)

    def run(
        self, tell: Callable[[dict[str, Any]], None] = lambda status: None, *, finish: bool = False
    ) -> dict[str, Any]:
        """Until all is applied that was in the log when copying ended."""
        status = api.run_move(
            self.request,
            spark=self.spark,
            meta=self.meta,
            listener=lambda status: tell(move_status_document(status)),
            until_caught_up=True,
            finish=finish,
        )
        return move_status_document(status)

    def drop(self) -> None:
        api.drop_move(self.request, self.meta)

    def rows(self, table: str, columns: str = "*") -> tuple[list[Any], list[Any]]:
        """What both sides hold, read by the drivers alone."""
        statement = f"SELECT {columns} FROM {table}"
        return sorted(self.source.rows(statement), key=repr), sorted(self.target.rows(statement), key=repr)


def way(request: pytest.FixtureRequest, pair: str, spark: SparkSession, directory: Path) -> Iterator[Moving]:
    """For a fixture: one of PAIRS; what a task left on it is dropped at the end."""
    source, target = (request.getfixturevalue(name) for name in PAIRS[pair])
    task = f"{pair}-{source.name}"
    moving = Moving(source, target, spark, directory, MoveRequest(task, source.url, target.url))
    yield moving
    moving.drop()
