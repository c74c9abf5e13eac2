"""What a task says of a target's columns and tables holds for each of them: none is passed over, and told as equal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.moving.pairs import Moving, way
from tests.integration.tasks.tables import assert_equal, computed, found, verified, with_task
from tieout.model.requests import Meaning, TableRequest
from tieout.model.results import Verdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def moving(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Iterator[Moving]:
    yield from way(request, "postgres-postgres", spark, tmp_path)


def test_columns_whose_names_differ_only_in_case(moving: Moving) -> None:
    """One is computed; the other is moved, and compared."""
    moving.source.execute('CREATE TABLE t (id INT PRIMARY KEY, "Total" INT, total INT, price INT)')
    moving.source.execute("INSERT INTO t VALUES (1, 100, 5, 7), (2, 200, 5, 8)")
    moving.target.execute('CREATE TABLE t (id INT PRIMARY KEY, "Total" INT, total INT)')
    moving = computed(moving, "price", total="price * 2")
    moving.run()
    assert moving.target.rows("SELECT * FROM t ORDER BY id") == [(1, 100, 14), (2, 200, 16)]
    assert_equal(moving)
    moving.target.execute('UPDATE t SET "Total" = 0 WHERE id = 2')
    assert found(verified(moving)) == {"t": {("changed", ("2",))}}


def test_merged_tables_compute_one_expression_for_columns_of_two_types(moving: Moving) -> None:
    """One column rounds it to seconds, and the other has all digits: what one holds is no value of the other."""
    source, target, whole = moving.source, moving.target, "2024-01-01 00:00:01"
    source.execute("CREATE TABLE t1 (id INT PRIMARY KEY, a TIMESTAMP(6), y TIMESTAMP(6))")
    source.execute("CREATE TABLE t2 (id INT PRIMARY KEY, a TIMESTAMP(6), x TIMESTAMP(0))")
    for name in ("t1", "t2"):
        source.execute(f"INSERT INTO {name} VALUES (1, '2024-01-01 00:00:00.7', '{whole}')")
    target.execute("CREATE TABLE both_ (shard TEXT, id INT, x TIMESTAMP(0), y TIMESTAMP(6), PRIMARY KEY (shard, id))")
    entries = [
        TableRequest(
            name,
            "both_",
            exclude_columns=("a",),
            expressions={"shard": ("_table", ""), column: ("CAST(a AS TIMESTAMP_NTZ)", "")},
        )
        for name, column in (("t1", "x"), ("t2", "y"))
    ]
    moving = with_task(moving, *entries)
    moving.run()
    for order in (entries, entries[::-1]):
        assert_equal(with_task(moving, *order))
    target.execute(f"UPDATE both_ SET y = '{whole}' WHERE shard = 't2'")
    for order in (entries, entries[::-1]):
        assert found(verified(with_task(moving, *order))) == {"both_": {("changed", ("1", "t2"))}}


@pytest.mark.parametrize("meaning", Meaning)
def test_rows_of_a_table_whose_namesake_goes_elsewhere(sqlite_to_sqlite: Moving, meaning: Meaning) -> None:
    """A pattern names the target's table; no table of the source fills it."""
    for name in ("t", "old"):
        sqlite_to_sqlite.source.execute(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY)")
    for name in ("t", "old", "archive"):
        sqlite_to_sqlite.target.execute(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY)")
    sqlite_to_sqlite.target.execute("INSERT INTO old VALUES (78)")
    moving = with_task(sqlite_to_sqlite, TableRequest("old", "archive"), TableRequest("*"))
    result = verified(moving, meaning=meaning)
    assert {table.target_table: table.verdict for table in result.tables} == {
        "main.archive": Verdict.EQUAL,
        "main.t": Verdict.EQUAL,
        "main.old": Verdict.DIFFERENT,
    }
