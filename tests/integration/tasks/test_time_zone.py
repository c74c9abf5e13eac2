"""A Spark session of somebody's own, in another time zone: the day of a moment would be another one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tieout
from tests.integration.moving.pairs import Moving
from tests.integration.tasks.conftest import sqlite_way
from tests.integration.tasks.tables import request_of, verified, with_task
from tests.servers.sqlite import SqliteDatabase
from tieout import api
from tieout.errors import SparkFailure
from tieout.model.requests import Meaning, TableRequest, VerifyRequest
from tieout.model.results import Verdict
from tieout.model.tables import Table, TableName
from tieout.spark.frames.computed_types import computed_types, values_of_names

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REFUSED = "the Spark session's time zone is Europe/Berlin, and the expressions of a task are evaluated in UTC"
DAY = "CAST(to_date(CAST(at AS TIMESTAMP)) AS STRING)"


@pytest.fixture
def berlin(spark: SparkSession) -> SparkSession:
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    return session


@pytest.fixture
def files(sqlite_db: Callable[[str], SqliteDatabase], berlin: SparkSession, tmp_path: Path) -> Iterator[Moving]:
    """The target holds the day that it was in Berlin; it was the day before in UTC."""
    for moving in sqlite_way(sqlite_db, berlin, tmp_path):
        moving.source.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, at TEXT)")
        moving.source.execute("INSERT INTO t VALUES (1, '2024-01-01 23:30:00+00:00')")
        moving.target.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, at TEXT, day TEXT)")
        yield moving


def test_a_task_with_an_expression_is_refused_with_the_remedy(files: Moving, spark: SparkSession) -> None:
    moving = with_task(files, TableRequest("t", expressions={"day": (DAY, "")}))
    flows = [
        moving.run,
        lambda: verified(moving),
        lambda: api.explain(request_of(moving), spark=moving.spark),
        lambda: api.run_verification(
            replace(request_of(moving, Meaning.SPARK), tables=(TableRequest("t", where=f"{DAY} > '2024'"),)),
            spark=moving.spark,
            meta=moving.meta,
        ),
    ]
    for flow in flows:
        with pytest.raises(SparkFailure) as refused:
            flow()
        assert refused.value.message == REFUSED
        assert refused.value.hint == 'spark.conf.set("spark.sql.session.timeZone", "UTC")'
    assert moving.target.rows("SELECT * FROM t") == []
    found = api.preflight(request_of(moving), moving.meta, spark=moving.spark, move=moving.request)
    assert REFUSED in [problem.message for problem in found.problems]
    moving.target.execute("INSERT INTO t VALUES (1, '2024-01-01 23:30:00+00:00', '2024-01-02')")
    assert verified(replace(moving, spark=spark)).verdict is Verdict.DIFFERENT
    moving.spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert verified(moving).verdict is Verdict.DIFFERENT


def test_tables_of_the_session_that_a_task_filters(berlin: SparkSession, tmp_path: Path) -> None:
    for name, at in (("ours", "23:30"), ("theirs", "22:30")):
        berlin.sql(f"SELECT 1 AS id, TIMESTAMP '2024-01-01 {at}:00 UTC' AS at").createOrReplaceTempView(name)
    table = TableRequest("ours", "theirs", where="to_date(at) = DATE '2024-01-01'")
    request = VerifyRequest("spark:///default", "spark:///default", (table,), task="t", meaning=Meaning.SPARK)
    meta = f"sqlite:///{tmp_path}/meta.db"
    with pytest.raises(SparkFailure, match="Europe/Berlin"):
        api.run_verification(request, spark=berlin, meta=meta)
    # Without a task, the SQL is the session's own: in Berlin, ours is of the next day.
    plain = replace(request, task=None, meaning=Meaning.ENGINE)
    (result,) = api.run_verification(plain, spark=berlin, meta=meta).tables
    assert (result.differences.missing, result.differences.extra) == (0, 1)


def test_without_expressions_any_time_zone_will_do(files: Moving) -> None:
    files.target.execute("INSERT INTO t VALUES (1, '2024-01-01 23:30:00+00:00', NULL)")
    for meaning in Meaning:
        moving = with_task(files, TableRequest("t", exclude_columns=("day",) if meaning is not Meaning.MOVED else ()))
        result = api.run_verification(request_of(moving, meaning), spark=moving.spark, meta=moving.meta)
        assert [each.reason for each in result.tables if each.verdict is Verdict.UNVERIFIED] == []
    rows = files.spark.sql("SELECT 1 AS id, TIMESTAMP '2024-01-01 23:30:00' AS at")
    assert tieout.compare(rows, rows, key="id").verdict is Verdict.EQUAL


@pytest.mark.parametrize("zone", ["UTC", "Etc/UTC", "GMT", "Z", "+00:00"])
def test_other_names_of_utc(berlin: SparkSession, zone: str) -> None:
    berlin.conf.set("spark.sql.session.timeZone", zone)
    assert values_of_names(berlin, [TableName("s", "t")], ["_table"]) == [["t"]]


def test_types_and_names_are_not_asked_for_either(berlin: SparkSession) -> None:
    with pytest.raises(SparkFailure, match="Europe/Berlin"):
        values_of_names(berlin, [TableName("s", "t")], ["_table"])
    with pytest.raises(SparkFailure, match="Europe/Berlin"):
        computed_types(berlin, Table(TableName("s", "t"), ()), {"a": "_table"}, frozenset())
