"""A pair of databases for each way that rows are moved; what a task left on them is dropped at the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.moving.ahead import Ahead
from tests.integration.moving.pairs import ACROSS, PAIRS, Moving, way

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(params=ACROSS)
def moving(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Iterator[Moving]:
    yield from way(request, request.param, spark, tmp_path)


@pytest.fixture
def mariadb_to_postgres(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Iterator[Moving]:
    """Where one way is like the others."""
    yield from way(request, "mariadb-postgres", spark, tmp_path)


@pytest.fixture
def ahead(request: pytest.FixtureRequest, tmp_path: Path) -> Ahead:
    source, target = (request.getfixturevalue(name) for name in PAIRS[request.param])
    return Ahead(source, target, tmp_path)
