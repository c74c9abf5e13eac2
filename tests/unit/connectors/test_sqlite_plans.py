"""What SQLite's plans prove, whatever tables and indexes are called."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tieout.config.urls import parse_url
from tieout.connectors.protocols.paths import NotCheckable
from tieout.connectors.sqlite.check.checker import open_checker
from tieout.model.tables import TableName


@pytest.mark.parametrize("name", ["plain", "x USING COVERING INDEX y"])
def test_an_index_that_is_read_through_its_table_is_read_in_a_copy(tmp_path: Path, name: str) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)")
        connection.execute(f'CREATE INDEX "{name}" ON t (lower(a))')
    with closing(open_checker(parse_url(f"sqlite:///{tmp_path}/a.db"))) as checker:
        (table,) = checker.describe([TableName("main", "t")])
        (index,) = checker.indexes(table)
        path = checker.index_path(index)
        assert not isinstance(path, NotCheckable)
        assert path.evidence.endswith("in a copy of the file")


def test_a_partial_index_is_read_where_it_is(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)")
        connection.execute("CREATE INDEX few ON t (a) WHERE a > 5")
    with closing(open_checker(parse_url(f"sqlite:///{tmp_path}/a.db"))) as checker:
        (table,) = checker.describe([TableName("main", "t")])
        (index,) = checker.indexes(table)
        path = checker.index_path(index)
        assert not isinstance(path, NotCheckable)
        assert path.evidence.endswith(" USING COVERING INDEX few (a>?)")
        assert checker.no_lookup_reason(index) is None
