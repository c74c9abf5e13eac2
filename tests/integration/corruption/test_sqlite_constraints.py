"""Rows of SQLite that really break what their table declares; a view that no longer works."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.corruption import sqlite
from tests.integration.corruption.sqlite_reads import disagreement, in_table

if TYPE_CHECKING:
    from tests.servers.sqlite import SqliteDatabase

Create = Callable[[str], "SqliteDatabase"]


def refused(database: SqliteDatabase, statement: str, words: str) -> None:
    with pytest.raises(sqlite3.Error, match=words):
        database.execute(f"PRAGMA foreign_keys = ON; {statement}")


def test_rows_whose_parent_is_gone(sqlite_db: Create) -> None:
    database = sqlite_db("db")
    database.execute("CREATE TABLE parent (id INTEGER PRIMARY KEY); INSERT INTO parent VALUES (1), (2)")
    database.execute("CREATE TABLE child (id INTEGER PRIMARY KEY, p INT REFERENCES parent ON DELETE CASCADE)")
    database.execute("INSERT INTO child VALUES (1, 1), (2, 2), (3, 2), (4, NULL)")
    sqlite.orphaned_rows(database, "parent", "id = 2")
    assert database.rows("SELECT id FROM child WHERE p NOT IN (SELECT id FROM parent)") == [(2,), (3,)]
    assert sqlite.own_checker(database, "child") == (
        "row 2 of child refers to no row of parent",
        "row 3 of child refers to no row of parent",
    )
    assert database.rows("PRAGMA integrity_check") == [("ok",)]
    refused(database, "INSERT INTO child VALUES (5, 2)", "FOREIGN KEY")


def test_rows_with_a_composite_key_of_no_parent(sqlite_db: Create) -> None:
    database = sqlite_db("db")
    database.execute("CREATE TABLE parent (a INT, b INT, PRIMARY KEY (a, b)); INSERT INTO parent VALUES (1, 1), (1, 2)")
    database.execute("CREATE TABLE child (id INTEGER PRIMARY KEY, a INT, b INT, FOREIGN KEY (a, b) REFERENCES parent)")
    database.execute("INSERT INTO child VALUES (1, 1, 1), (2, 1, 2), (3, NULL, 9)")
    sqlite.wrong_reference(database, "child", "id = 2", {"b": 3})
    assert in_table(database, "child", "a, b", "id = 2") == {(1, 3): 1}
    assert database.rows("SELECT 1 FROM parent WHERE (a, b) = (1, 3)") == []
    assert sqlite.own_checker(database, "child") == ("row 2 of child refers to no row of parent",)


def test_a_table_that_refers_to_itself(sqlite_db: Create) -> None:
    database = sqlite_db("db")
    database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, boss INT REFERENCES t)")
    database.execute("INSERT INTO t VALUES (1, NULL), (2, 1), (3, 2)")
    sqlite.orphaned_rows(database, "t", "id = 1")
    assert database.rows("SELECT id FROM t WHERE boss NOT IN (SELECT id FROM t)") == [(2,)]
    assert sqlite.own_checker(database, "t") == ("row 2 of t refers to no row of t",)


def test_a_check_that_does_not_hold(sqlite_db: Create) -> None:
    database = sqlite_db("db")
    database.execute(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, v INT CHECK (v > 0)); INSERT INTO t VALUES (1, 1), (2, 2)"
    )
    sqlite.violated_check(database, "t", "id = 2", {"v": -2})
    assert in_table(database, "t", "id, v", "v <= 0") == {(2, -2): 1}
    assert sqlite.own_checker(database, "t") == ("CHECK constraint failed in t",)
    refused(database, "UPDATE t SET v = -1 WHERE id = 1", "CHECK")


def test_null_where_there_is_none(sqlite_db: Create) -> None:
    database = sqlite_db("db")
    database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v INT NOT NULL, w INT CHECK (w IS NOT NULL))")
    database.execute("INSERT INTO t VALUES (1, 1, 1), (2, 2, 2); CREATE INDEX i ON t (v)")
    sqlite.null_value(database, "t", "v", "id = 2")
    assert in_table(database, "t", "id", "typeof(v) = 'null'") == {(2,): 1}
    assert disagreement(database, "t", "i", "v, id") == (set(), set())
    assert sqlite.own_checker(database, "t") == ("NULL value in t.v",)
    refused(database, "UPDATE t SET v = NULL WHERE id = 1", "NOT NULL")


@pytest.mark.parametrize(
    ("options", "words"),
    [("", ()), ("STRICT", ("non-INTEGER value in t.v",)), ("STRICT, WITHOUT ROWID", ("non-INTEGER value in t.v",))],
    ids=["plain", "strict", "strict without rowid"],
)
def test_a_value_of_another_type(sqlite_db: Create, options: str, words: tuple[str, ...]) -> None:
    database = sqlite_db("db")
    database.execute(
        f"CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER) {options}; INSERT INTO t VALUES (1, 1), (2, 2)"
    )
    sqlite.wrong_type(database, "t", "v", "id = 2", "two")
    assert in_table(database, "t", "id, v, typeof(v)", "id = 2") == {(2, "two", "text"): 1}
    assert sqlite.own_checker(database, "t") == words
    if options:
        refused(database, "UPDATE t SET v = 'one' WHERE id = 1", "cannot store TEXT value in INTEGER column")


def test_a_generated_value_that_its_expression_does_not_give(sqlite_db: Create) -> None:
    database = sqlite_db("db")
    database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v INT, g INT GENERATED ALWAYS AS (abs(v) * 2) STORED)")
    database.execute("CREATE INDEX i ON t (g, v); INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)")
    sqlite.wrong_generated_value(database, "t", "g", "id >= 2", 5)
    assert in_table(database, "t", "id, v, g", "g <> abs(v) * 2") == {(2, 20, 5): 1, (3, 30, 5): 1}
    assert disagreement(database, "t", "i", "g, id") == (set(), set())
    assert sqlite.own_checker(database, "t") == ()


@pytest.mark.parametrize("statement", ["DROP TABLE t", "ALTER TABLE t DROP COLUMN v", "ALTER TABLE t RENAME v TO w"])
def test_a_view_that_can_no_longer_be_read(sqlite_db: Create, statement: str) -> None:
    database = sqlite_db("db")
    database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v INT); CREATE VIEW w AS SELECT id, v FROM t")
    assert database.rows("SELECT * FROM w") == []
    sqlite.broken_view(database, "w", statement)
    assert database.rows("SELECT type FROM sqlite_master WHERE name = 'w'") == [("view",)]
    refused(database, "SELECT * FROM w", "no such (table|column)")
    assert database.rows("PRAGMA integrity_check") == [("ok",)]
