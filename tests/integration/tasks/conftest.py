"""A pair of databases for each way that rows are moved, SQLite's too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.moving.pairs import Moving, way
from tests.servers.sqlite import SqliteDatabase
from tieout.model.requests import MoveRequest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def sqlite_way(sqlite_db: Callable[[str], SqliteDatabase], spark: SparkSession, directory: Path) -> Iterator[Moving]:
    source, target = sqlite_db("source"), sqlite_db("target")
    target.path.touch()
    request = MoveRequest("sqlite", source.url, target.url)
    yield Moving(source, target, spark, directory, request)  # type: ignore[arg-type]


@pytest.fixture
def moving(
    request: pytest.FixtureRequest,
    spark: SparkSession,
    sqlite_db: Callable[[str], SqliteDatabase],
    tmp_path: Path,
) -> Iterator[Moving]:
    if request.param == "sqlite-sqlite":
        yield from sqlite_way(sqlite_db, spark, tmp_path)
    else:
        yield from way(request, request.param, spark, tmp_path)


@pytest.fixture
def mariadb_to_postgres(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Iterator[Moving]:
    yield from way(request, "mariadb-postgres", spark, tmp_path)


@pytest.fixture
def postgres_to_mariadb(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Iterator[Moving]:
    yield from way(request, "postgres-mariadb", spark, tmp_path)


@pytest.fixture
def mariadb_to_mariadb(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Iterator[Moving]:
    yield from way(request, "mariadb-mariadb", spark, tmp_path)


@pytest.fixture
def sqlite_to_sqlite(
    sqlite_db: Callable[[str], SqliteDatabase], spark: SparkSession, tmp_path: Path
) -> Iterator[Moving]:
    yield from sqlite_way(sqlite_db, spark, tmp_path)
