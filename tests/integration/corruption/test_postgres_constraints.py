"""Rows of PostgreSQL that really break what their table declares; a view and a sequence that no longer serve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.corruption import postgres
from tests.integration.corruption.postgres_reads import in_table

if TYPE_CHECKING:
    from tests.servers.server import Database

PARENT = "CREATE TABLE parent (a int, b int, PRIMARY KEY (a, b)); INSERT INTO parent VALUES (1, 1), (1, 2), (2, 2)"
CHILDREN = """CREATE TABLE child (id int PRIMARY KEY, a int, b int, FOREIGN KEY (a, b) REFERENCES parent MATCH {match});
    INSERT INTO child VALUES (1, 1, 1), (2, 1, 2), (3, 2, 2), (4, NULL, NULL)"""


def refused(database: Database, statement: str, error: type[psycopg.Error]) -> None:
    with pytest.raises(error):
        database.execute(statement)


def all_valid(database: Database, table: str) -> bool:
    unsure = "SELECT 1 FROM pg_constraint WHERE conrelid = %s::regclass AND NOT convalidated"
    return not database.rows(unsure, table)


# ------------------------------------------------------------------------------------------------ foreign keys


def test_rows_whose_parent_is_gone(pg_db: Database) -> None:
    pg_db.execute("CREATE TABLE parent (id int PRIMARY KEY); INSERT INTO parent VALUES (1), (2)")
    pg_db.execute("CREATE TABLE child (id int PRIMARY KEY, p int REFERENCES parent ON DELETE CASCADE)")
    pg_db.execute("INSERT INTO child VALUES (1, 1), (2, 2), (3, 2), (4, NULL)")
    postgres.orphaned_rows(pg_db, "parent", "id = 2")
    orphans = "SELECT id FROM child WHERE p NOT IN (SELECT id FROM parent)"
    assert pg_db.rows(orphans) == [(2,), (3,)]
    assert all_valid(pg_db, "child")
    assert postgres.own_checker(pg_db, "child") == postgres.own_checker(pg_db, "parent") == ()
    refused(pg_db, "INSERT INTO child VALUES (5, 2)", psycopg.errors.ForeignKeyViolation)


def test_rows_with_a_composite_key_of_no_parent(pg_db: Database) -> None:
    pg_db.execute(PARENT)
    pg_db.execute(CHILDREN.format(match="SIMPLE"))
    postgres.orphaned_rows(pg_db, "parent", "(a, b) = (1, 2)")
    postgres.wrong_reference(pg_db, "child", "id = 3", {"b": 1})
    assert pg_db.rows("SELECT id FROM child WHERE (a, b) NOT IN (SELECT a, b FROM parent)") == [(2,), (3,)]
    assert all_valid(pg_db, "child")
    assert postgres.own_checker(pg_db, "child") == ()


def test_a_full_match_with_a_part_that_is_null(pg_db: Database) -> None:
    pg_db.execute(PARENT)
    pg_db.execute(CHILDREN.format(match="FULL"))
    postgres.wrong_reference(pg_db, "child", "id = 2", {"a": None})
    assert in_table(pg_db, "SELECT id FROM child WHERE num_nulls(a, b) = 1") == {(2,): 1}
    assert all_valid(pg_db, "child")
    assert postgres.own_checker(pg_db, "child") == ()
    refused(pg_db, "UPDATE child SET a = NULL WHERE id = 3", psycopg.errors.ForeignKeyViolation)


def test_a_table_that_refers_to_itself(pg_db: Database) -> None:
    pg_db.execute("CREATE TABLE t (id int PRIMARY KEY, boss int REFERENCES t)")
    pg_db.execute("INSERT INTO t VALUES (1, NULL), (2, 1), (3, 2)")
    postgres.orphaned_rows(pg_db, "t", "id = 1")
    assert pg_db.rows("SELECT id FROM t WHERE boss NOT IN (SELECT id FROM t)") == [(2,)]
    assert all_valid(pg_db, "t")
    assert postgres.own_checker(pg_db, "t") == ()


# -------------------------------------------------------------------------------------- CHECK, NOT NULL, generated


def test_a_check_that_does_not_hold(pg_db: Database) -> None:
    pg_db.execute("CREATE TABLE t (id int PRIMARY KEY, v int CHECK (v > 0)); INSERT INTO t VALUES (1, 1), (2, 2)")
    postgres.violated_check(pg_db, "t", "id = 2", {"v": -2})
    assert in_table(pg_db, "SELECT id, v FROM t WHERE v <= 0") == {(2, -2): 1}
    assert all_valid(pg_db, "t")
    assert postgres.own_checker(pg_db, "t") == ()
    refused(pg_db, "UPDATE t SET v = -1 WHERE id = 1", psycopg.errors.CheckViolation)


def test_a_check_that_no_row_was_asked(pg_db: Database) -> None:
    pg_db.execute("CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 1), (2, -2)")
    postgres.check_never_asked(pg_db, "t", "positive", "v > 0")
    assert in_table(pg_db, "SELECT id, v FROM t WHERE v <= 0") == {(2, -2): 1}
    assert all_valid(pg_db, "t")
    assert postgres.own_checker(pg_db, "t") == ()
    refused(pg_db, "UPDATE t SET v = -1 WHERE id = 1", psycopg.errors.CheckViolation)


def test_null_where_there_is_none(pg_db: Database) -> None:
    pg_db.execute("CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL); INSERT INTO t VALUES (1, 1), (2, 2)")
    postgres.null_value(pg_db, "t", "v", "id = 2")
    assert in_table(pg_db, "SELECT id FROM t WHERE num_nulls(v) = 1") == {(2,): 1}
    assert postgres.own_checker(pg_db, "t") == ()
    refused(pg_db, "UPDATE t SET v = NULL WHERE id = 1", psycopg.errors.NotNullViolation)


def test_a_generated_value_that_its_expression_does_not_give(pg_db: Database) -> None:
    pg_db.execute("CREATE TABLE t (id int PRIMARY KEY, g int GENERATED ALWAYS AS (id * 2) STORED)")
    pg_db.execute("INSERT INTO t VALUES (1), (2)")
    postgres.wrong_generated_value(pg_db, "t", "g", "id = 2", 5)
    assert in_table(pg_db, "SELECT id, g FROM t WHERE g <> id * 2") == {(2, 5): 1}
    assert postgres.own_checker(pg_db, "t") == ()
    refused(pg_db, "UPDATE t SET g = 3", psycopg.errors.GeneratedAlways)


# ------------------------------------------------------------------------------------------ views and sequences


@pytest.mark.parametrize(
    "statement",
    ["DROP FUNCTION f(int)", "ALTER TABLE t DROP COLUMN v", "ALTER TABLE t ALTER v TYPE text", "DROP TABLE t"],
)
def test_a_view_that_can_no_longer_be_read(pg_db: Database, statement: str) -> None:
    pg_db.execute("CREATE FUNCTION f(a int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN a; END'")
    pg_db.execute("CREATE TABLE t (id int PRIMARY KEY, v int); CREATE VIEW w AS SELECT id, f(v) FROM t")
    pg_db.execute("INSERT INTO t VALUES (1, 10)")
    assert pg_db.rows("SELECT * FROM w") == [(1, 10)]
    postgres.broken_view(pg_db, "w", statement)
    assert pg_db.rows("SELECT relkind FROM pg_class WHERE relname = 'w'") == [("v",)]
    refused(pg_db, "SELECT * FROM w", psycopg.Error)


@pytest.mark.parametrize("declared", ["serial", "int GENERATED ALWAYS AS IDENTITY"])
def test_a_sequence_that_gives_what_is_taken(pg_db: Database, declared: str) -> None:
    pg_db.execute(f"CREATE TABLE t (id {declared} PRIMARY KEY, v int); INSERT INTO t (v) VALUES (1), (2), (3)")
    postgres.sequence_behind(pg_db, "t", "id")
    refused(pg_db, "INSERT INTO t (v) VALUES (4)", psycopg.errors.UniqueViolation)
    assert postgres.own_checker(pg_db, "t") == ()
