"""Users' SQL beside a column: its values are compared whole, whatever the type of the column is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tieout
from tieout import TableRequest, VerificationResult

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Verify = Callable[[str, str, str], VerificationResult]

TABLES: dict[str, str] = {
    "mysql": "ts datetime(6), d date, f float, big double, t varchar(20), n int, tm time, j json",
    "postgres": "ts timestamp, d date, f real, big float8, t varchar(20), n int, tm time, j jsonb",
    "duckdb": "ts timestamp, d date, f real, big double, t varchar(20), n int, tm time, j json",
}
ROW = """(1, '2024-05-06 05:00:00', '2024-05-06', 1.5, 1.50000001, '7', 7, '01:00:00', '{"a": 1}')"""
HALF = {
    "mysql": "addtime(tm, '00:00:00.0000001')",
    "postgres": "tm + interval '0.5 second'",
    "duckdb": "tm + interval '500 milliseconds'",
}
WHOLE = {"mysql": "cast(t as signed)", "postgres": "t::int", "duckdb": "t::int"}


@pytest.fixture(params=list(TABLES))
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def verify(engine: str, request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Verify:
    """Verifies one column against itself, with an expression on the source."""
    made: Any = request.getfixturevalue({"mysql": "mysql_db", "postgres": "pg_db", "duckdb": "duckdb_db"}[engine])
    database = made("shop") if engine == "duckdb" else made
    database.execute(f"CREATE TABLE x (id int primary key, {TABLES[engine]})")
    database.execute(f"INSERT INTO x VALUES {ROW}")

    def run(column: str, source: str, target: str = "") -> VerificationResult:
        table = TableRequest("x", columns=(column,), expressions={column: (source, target)})
        return tieout.verify(database.url, database.url, table, spark=spark, meta=f"sqlite:///{tmp_path}/meta.db")

    return run


def test_what_the_column_would_cut_off_is_a_difference(verify: Verify, engine: str) -> None:
    found = {name: verify(name, sql, "").verdict for name, sql in {"d": "ts", "f": "big", "tm": HALF[engine]}.items()}
    wanted = dict.fromkeys(found, "different")
    if engine == "mysql":
        wanted["tm"] = "equal"  # the server itself drops the seventh digit
    assert found == wanted


def test_an_expression_brings_two_types_together(verify: Verify, engine: str) -> None:
    assert verify("t", "t", "n").verdict == "unverified"
    assert verify("t", WHOLE[engine], "n").verdict == "equal"
    assert verify("n", "n + 1", "").verdict == "different"


def test_json_stays_json(verify: Verify) -> None:
    assert verify("j", "j", "").verdict == "equal"


def test_sql_that_the_engine_refuses_leaves_its_table_unverified(verify: Verify) -> None:
    found = verify("n", "no_such_column + 1", "")
    assert found.verdict == "unverified"
    assert "no_such_column" in str(found.tables[0].reason)
