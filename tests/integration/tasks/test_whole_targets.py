"""What a task says of a target's columns and tables holds for each of them: none is passed over, and told as equal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.moving.pairs import Moving, way
from tests.integration.tasks.tables import assert_equal, computed, found, verified

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
