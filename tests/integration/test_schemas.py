"""Tables of several schemas of one database: verified by name, and never silently left out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import tieout
from tieout import VerificationResult

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.duckdb import DuckDBDatabase
    from tests.servers.server import Database

    Sides = tuple[Database | DuckDBDatabase, Database | DuckDBDatabase]
    Verify = Callable[..., VerificationResult]


@pytest.fixture(params=["postgres", "duckdb"])
def sides(request: pytest.FixtureRequest) -> Sides:
    """Equal in the default schema, different in another one."""
    if request.param == "postgres":
        both = request.getfixturevalue("fresh_postgres_pair")
    else:
        make = request.getfixturevalue("duckdb_db")
        both = make("source"), make("target")
    for side, value in zip(both, (1, 2), strict=True):
        side.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)")
        side.execute("INSERT INTO t VALUES (1, 7)")
        side.execute("CREATE SCHEMA other")
        side.execute("CREATE TABLE other.t (id INTEGER PRIMARY KEY, n INTEGER)")
        side.execute(f"INSERT INTO other.t VALUES (1, {value})")
    return both


@pytest.fixture
def verify(sides: Sides, spark: SparkSession, tmp_path: Path) -> Verify:
    def run(tables: str = "") -> VerificationResult:
        named = [tables] if tables else []
        return tieout.verify(sides[0].url, sides[1].url, named, spark=spark, meta=f"sqlite:///{tmp_path}/meta.db")

    return run


def test_a_schema_that_nobody_named_is_in_the_notes(verify: Verify) -> None:
    found = verify()
    assert [table.source_table for table in found.tables] == [verify("t").tables[0].source_table]
    assert [note for note in found.notes if "the source has tables in other, too" in note]
    assert not [note for note in verify("t").notes if "other" in note]


@pytest.mark.parametrize("tables", ["*.*", "other.*", "other.t"])
def test_a_named_schema_meets_its_namesake(verify: Verify, tables: str) -> None:
    found = verify(tables)
    assert ("other.t", "other.t", "different") in [
        (table.source_table, table.target_table, table.verdict) for table in found.tables
    ]
    assert {table.source_table for table in found.tables} == {table.target_table for table in found.tables}
    assert len(found.tables) == (2 if tables == "*.*" else 1)
