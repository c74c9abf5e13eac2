"""A pair of databases for each way that rows are moved; what a task left on them is dropped at the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.moving.pairs import PAIRS, Moving
from tieout.model.move_requests import MoveRequest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(params=PAIRS)
def moving(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Iterator[Moving]:
    yield from _moving(request, request.param, spark, tmp_path)


@pytest.fixture
def mariadb_to_postgres(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Iterator[Moving]:
    """Where one way is like the others."""
    yield from _moving(request, "mariadb-postgres", spark, tmp_path)


def _moving(request: pytest.FixtureRequest, pair: str, spark: SparkSession, tmp_path: Path) -> Iterator[Moving]:
    source, target = (request.getfixturevalue(name) for name in PAIRS[pair])
    task = f"{pair}-{source.name}"
    moving = Moving(source, target, spark, tmp_path, MoveRequest(task, source.url, target.url))
    yield moving
    moving.drop()
