"""A large table of MariaDB is cut where its rows are, and nobody has read them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from tieout.config.urls import parse_url
from tieout.connectors.registry import open_endpoint
from tieout.model.tables import Table

ROWS = 520_000


@pytest.fixture(scope="module")
def large(mariadb: Any) -> Any:
    """Keys that lie ever further apart, from below zero; the same under a key that is text."""
    with mariadb.fresh_database() as database:
        database.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, v INT)")
        database.execute(f"INSERT INTO t SELECT CAST(seq * seq AS SIGNED) - 1000000, seq FROM seq_1_to_{ROWS}")
        database.execute("CREATE TABLE small AS SELECT * FROM t LIMIT 1000")
        database.execute("ALTER TABLE small ADD PRIMARY KEY (id)")
        database.execute("CREATE TABLE texts (k VARCHAR(20) PRIMARY KEY) AS SELECT CAST(v AS CHAR) AS k FROM t")
        database.execute("ANALYZE TABLE t, small, texts")
        yield database


def described(database: Any, name: str) -> Table:
    endpoint = open_endpoint(parse_url(database.url))
    try:
        (table,) = endpoint.describe([n for n in endpoint.tables() if n.name == name])
        return table
    finally:
        endpoint.close()


def test_a_large_table_is_divided_into_parts_about_alike(large: Any) -> None:
    with large.server.recording() as seen:
        keys = [int(key) for key in described(large, "t").sampled_keys]

    sizes = [
        large.rows("SELECT COUNT(*) FROM t WHERE id > %s AND id <= %s", low, high)[0][0] for low, high in pairwise(keys)
    ]
    assert sum(sizes) == ROWS
    assert len(sizes) >= 4
    assert max(sizes) < 2.5 * ROWS / len(sizes)
    about_rows = [s.text for s in seen if "`t`" in s.text]
    assert about_rows
    assert all(text.startswith(("EXPLAIN", "SELECT MIN(`id`), MAX(`id`)")) for text in about_rows)


@pytest.mark.parametrize("name", ["small", "texts"])
def test_what_can_not_be_divided_so_is_walked(large: Any, name: str) -> None:
    assert described(large, name).sampled_keys == ()
