"""One pair of filled databases for each pair of engines, and one verification of all its tables for each way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.matrix.columns import MARIADB, POSTGRES
from tests.integration.matrix.engines import TestDatabase
from tests.integration.matrix.pairs import How, Pair, fill
from tests.servers.sqlite import SqliteDatabase
from tieout import api
from tieout.model.results import VerificationResult

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.mariadb import MariaDB
    from tests.servers.postgres import Postgres

Verified = Callable[[Pair, How], VerificationResult]


@pytest.fixture(scope="session")
def filled(
    mariadb: MariaDB, mariadb_b: MariaDB, postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[Pair], tuple[TestDatabase, TestDatabase]]]:
    """Both sides of a pair, made on first use. No two servers have the same time zone."""
    made: dict[str, tuple[TestDatabase, TestDatabase]] = {}
    with ExitStack() as stack:

        def open_side(engine: str, is_source: bool) -> TestDatabase:
            database: Any
            if engine == MARIADB:
                database = stack.enter_context((mariadb if is_source else mariadb_b).fresh_database())
            elif engine == POSTGRES:
                database = stack.enter_context(postgres.fresh_database())
                postgres.set_time_zone(database.name, "Asia/Kolkata" if is_source else "America/St_Johns")
            else:
                database = SqliteDatabase(tmp_path_factory.mktemp("matrix") / "side.db")
            return TestDatabase(engine, database, is_source=is_source)

        def get(pair: Pair) -> tuple[TestDatabase, TestDatabase]:
            if str(pair) not in made:
                sides = open_side(pair.source, True), open_side(pair.target, False)
                for side in sides:
                    fill(pair, side)
                made[str(pair)] = sides
            return made[str(pair)]

        yield get


@pytest.fixture(scope="session")
def verified(
    filled: Callable[[Pair], tuple[TestDatabase, TestDatabase]],
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
) -> Verified:
    """The verification of all tables of a pair in one way: run once, looked at by many tests."""
    meta = f"sqlite:///{tmp_path_factory.mktemp('meta')}/meta.db"
    results: dict[tuple[str, How], VerificationResult] = {}

    def get(pair: Pair, how: How) -> VerificationResult:
        if (str(pair), how) not in results:
            source, target = filled(pair)
            results[str(pair), how] = api.verify(
                source.url,
                target.url,
                spark=spark,
                meta=meta,
                strategy=how.strategy,
                hash_bits=how.bits,
                limit=None,
                # Nothing writes to these tables; other tests may write to their servers.
                recheck_times=0,
            )
        return results[str(pair), how]

    return get
