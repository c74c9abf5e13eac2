"""Rows of MariaDB that really hold what their table declares impossible; a view that no longer works."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pymysql
import pytest

from tests.corruption import mariadb
from tests.integration.corruption.mariadb_reads import disagreement, in_table

if TYPE_CHECKING:
    from tests.servers.server import Database


def refused(database: Database, statement: str, words: str) -> None:
    with pytest.raises(pymysql.err.MySQLError, match=words):
        database.execute(f"SET SESSION sql_mode = 'TRADITIONAL'; {statement}")


def test_rows_whose_parent_is_gone(mysql_db: Database) -> None:
    mysql_db.execute("CREATE TABLE parent (id INT PRIMARY KEY); INSERT INTO parent VALUES (1), (2)")
    mysql_db.execute("CREATE TABLE child (id INT PRIMARY KEY, p INT REFERENCES parent (id) ON DELETE CASCADE)")
    mysql_db.execute("INSERT INTO child VALUES (1, 1), (2, 2), (3, 2), (4, NULL)")
    mariadb.orphaned_rows(mysql_db, "parent", "id = 2")
    assert mysql_db.rows("SELECT id FROM child WHERE p NOT IN (SELECT id FROM parent)") == [(2,), (3,)]
    assert mariadb.own_checker(mysql_db, "child") == ()
    refused(mysql_db, "INSERT INTO child VALUES (5, 2)", "foreign key constraint fails")


def test_rows_with_a_composite_key_of_no_parent(mysql_db: Database) -> None:
    mysql_db.execute("CREATE TABLE parent (a INT, b INT, PRIMARY KEY (a, b)); INSERT INTO parent VALUES (1, 1), (1, 2)")
    mysql_db.execute(
        "CREATE TABLE child (id INT PRIMARY KEY, a INT, b INT, FOREIGN KEY (a, b) REFERENCES parent (a, b))"
    )
    mysql_db.execute("INSERT INTO child VALUES (1, 1, 1), (2, 1, 2), (3, NULL, 9)")
    mariadb.wrong_reference(mysql_db, "child", "id = 2", {"b": 3})
    assert in_table(mysql_db, "child", "a, b", "id = 2") == {(1, 3): 1}
    assert mysql_db.rows("SELECT 1 FROM parent WHERE (a, b) = (1, 3)") == []
    assert mariadb.own_checker(mysql_db, "child") == ()


def test_a_table_that_refers_to_itself(mysql_db: Database) -> None:
    mysql_db.execute("CREATE TABLE t (id INT PRIMARY KEY, boss INT REFERENCES t (id))")
    mysql_db.execute("INSERT INTO t VALUES (1, NULL), (2, 1), (3, 2)")
    mariadb.orphaned_rows(mysql_db, "t", "id = 1")
    assert mysql_db.rows("SELECT id FROM t WHERE boss NOT IN (SELECT id FROM t)") == [(2,)]
    assert mariadb.own_checker(mysql_db, "t") == ()


def test_a_check_that_does_not_hold(mysql_db: Database) -> None:
    mysql_db.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT CHECK (v > 0)); INSERT INTO t VALUES (1, 1), (2, 2)")
    mariadb.violated_check(mysql_db, "t", "id = 2", {"v": -2})
    assert in_table(mysql_db, "t", "id, v", "v <= 0") == {(2, -2): 1}
    assert mariadb.own_checker(mysql_db, "t") == ()
    refused(mysql_db, "UPDATE t SET v = -1 WHERE id = 1", "CONSTRAINT .* failed")


def test_a_json_column_with_no_json(mysql_db: Database) -> None:
    mysql_db.execute("CREATE TABLE t (id INT PRIMARY KEY, j JSON); INSERT INTO t VALUES (1, '{}'), (2, '[1]')")
    mariadb.invalid_json(mysql_db, "t", "j", "id = 2")
    assert in_table(mysql_db, "t", "id, j", "NOT JSON_VALID(j)") == {(2, "{"): 1}
    assert mariadb.own_checker(mysql_db, "t") == ()
    refused(mysql_db, "UPDATE t SET j = '{' WHERE id = 1", "CONSTRAINT .* failed")


def test_an_enum_that_is_none_of_its_members(mysql_db: Database) -> None:
    mysql_db.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, e ENUM('a', 'b'), KEY i (e)); INSERT INTO t VALUES (1, 'a'), (2, 'b')"
    )
    mariadb.no_member(mysql_db, "t", "e", "id = 2")
    assert in_table(mysql_db, "t", "id, e, e + 0", "id = 2") == {(2, "", 0): 1}
    assert disagreement(mysql_db, "t", "i", "e, id") == (set(), set())
    assert mariadb.own_checker(mysql_db, "t") == ()
    refused(mysql_db, "UPDATE t SET e = '' WHERE id = 1", "Data truncated")


@pytest.mark.parametrize(
    ("declared", "date"),
    [
        ("DATE", "0000-00-00"),
        ("DATETIME", "0000-00-00"),
        ("TIMESTAMP", "0000-00-00"),
        ("DATE", "2024-02-31"),
        ("DATE", "2024-05-00"),
    ],
)
def test_a_date_that_is_none(mysql_db: Database, declared: str, date: str) -> None:
    mysql_db.execute(
        f"CREATE TABLE t (id INT PRIMARY KEY, d {declared}); INSERT INTO t VALUES (1, '2024-01-01'), (2, '2024-01-02')"
    )
    mariadb.zero_date(mysql_db, "t", "d", "id = 2", date)
    assert in_table(mysql_db, "t", "LEFT(CAST(d AS CHAR), 10)", "id = 2") == {(date,): 1}
    assert mariadb.own_checker(mysql_db, "t") == ()
    refused(mysql_db, f"UPDATE t SET d = '{date}' WHERE id = 1", "Incorrect .* value")


@pytest.mark.parametrize("engine", ["InnoDB", "MyISAM", "Aria"])
def test_a_generated_value_that_its_expression_does_not_give(mysql_db: Database, engine: str) -> None:
    mysql_db.execute(f"CREATE TABLE t (id INT PRIMARY KEY, v INT, g INT AS (v * 2) STORED, KEY i (g)) ENGINE={engine}")
    mysql_db.execute("INSERT INTO t (id, v) VALUES (1, 10), (2, 20), (3, 30)")
    mariadb.wrong_generated_value(mysql_db, "t", "g", "id = 2", 5)
    assert in_table(mysql_db, "t", "id, v, g", "g <> v * 2") == {(2, 20, 5): 1}
    assert disagreement(mysql_db, "t", "i", "g") == (set(), set())
    assert "(`v` * 2) STORED" in mysql_db.rows("SHOW CREATE TABLE t")[0][1]
    assert mariadb.own_checker(mysql_db, "t") == ()


@pytest.mark.parametrize("statement", ["DROP TABLE t", "ALTER TABLE t DROP COLUMN v", "DROP FUNCTION f"])
def test_a_view_that_can_no_longer_be_read(mysql_db: Database, statement: str) -> None:
    mysql_db.execute("CREATE FUNCTION f(a INT) RETURNS INT DETERMINISTIC RETURN a")
    mysql_db.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT); CREATE VIEW w AS SELECT id, f(v) FROM t")
    assert mysql_db.rows("SELECT * FROM w") == []
    mariadb.broken_view(mysql_db, "w", statement)
    assert mysql_db.rows("SELECT table_name FROM information_schema.views WHERE table_schema = DATABASE()") == [("w",)]
    refused(mysql_db, "SELECT * FROM w", "references invalid table")
    assert any("references invalid table" in text for text in mariadb.own_checker(mysql_db, "w"))
