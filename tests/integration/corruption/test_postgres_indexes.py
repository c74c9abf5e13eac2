"""Indexes of PostgreSQL that are really wrong as a whole, or really hold a key twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.corruption import postgres
from tests.integration.corruption.postgres_reads import disagreement, fetched, fill, in_index, in_table

if TYPE_CHECKING:
    from tests.servers.server import Database


@pytest.fixture
def table(pg_db: Database) -> Database:
    pg_db.execute("CREATE TABLE t (id int PRIMARY KEY, v int UNIQUE)")
    pg_db.execute("INSERT INTO t SELECT n, 10 * n FROM generate_series(1, 20) n")
    return pg_db


def test_a_key_twice_in_a_unique_index(table: Database) -> None:
    postgres.duplicate_entry(table, "t", "t_v_key", "id = 7", {"id": 99})
    assert in_table(table, "SELECT v FROM t WHERE v = 70") == {(70,): 2}
    assert in_index(table, "t_v_key", "SELECT v FROM t WHERE v = 70") == {(70,): 2}
    assert postgres.own_checker(table, "t") == ()
    assert_still_unique(table, "t_v_key", "INSERT INTO t VALUES (100, 80)")
    with pytest.raises(psycopg.errors.UniqueViolation, match="could not create unique index"):
        table.execute("REINDEX INDEX t_v_key")


def test_a_key_twice_in_a_table_and_once_in_its_unique_index(table: Database) -> None:
    postgres.duplicate_without_entry(table, "t", "t_v_key", "id = 7", {"id": 99})
    assert in_table(table, "SELECT v FROM t WHERE v = 70") == {(70,): 2}
    assert in_index(table, "t_v_key", "SELECT v FROM t WHERE v = 70") == {(70,): 1}
    assert "lacks matching index tuple" in postgres.own_checker(table, "t")[0]
    assert_still_unique(table, "t_v_key", "INSERT INTO t VALUES (100, 80)")


@pytest.mark.parametrize(
    ("recipe", "entries"), [(postgres.duplicate_entry, 2), (postgres.duplicate_without_entry, 1)], ids=["both", "one"]
)
def test_a_primary_key_twice(table: Database, recipe: Callable[..., None], entries: int) -> None:
    recipe(table, "t", "t_pkey", "id = 7", {"v": 71})
    assert in_table(table, "SELECT id FROM t WHERE id = 7") == {(7,): 2}
    assert in_index(table, "t_pkey", "SELECT id FROM t WHERE id = 7") == {(7,): entries}
    assert_still_unique(table, "t_pkey", "INSERT INTO t VALUES (8, 5)")


def assert_still_unique(table: Database, index: str, insert: str) -> None:
    flags = "SELECT indisunique, indisready FROM pg_index WHERE indexrelid = %s::regclass"
    assert table.rows(flags, index) == [(True, True)]
    with pytest.raises(psycopg.errors.UniqueViolation, match=index):
        table.execute(insert)


# ------------------------------------------------------------------------------------------------------- order

WORDS = ["apple", "Apple", "öl", "zebra", "Zebra", "ol"]


def texts(database: Database, collation: str) -> Database:
    database.execute(f'CREATE TABLE t (id int PRIMARY KEY, s text COLLATE "{collation}"); CREATE INDEX i ON t (s)')
    fill(database, "t", f"INSERT INTO t SELECT ordinality, s FROM unnest(ARRAY{WORDS}) WITH ORDINALITY s")
    return database


def test_an_index_in_the_order_of_another_collation(pg_db: Database) -> None:
    texts(pg_db, "en-x-icu")
    postgres.wrong_order(pg_db, "i", "C")
    assert in_table(pg_db, "SELECT s FROM t WHERE s COLLATE \"C\" < 'a'") == {("Apple",): 1, ("Zebra",): 1}
    assert in_index(pg_db, "i", "SELECT s FROM t WHERE s COLLATE \"C\" < 'a'") == {}
    assert disagreement(pg_db, "i", "SELECT s FROM t") == (set(), set())
    assert postgres.own_checker(pg_db, "t") == ('item order invariant violated for index "i"',)


def test_a_collation_that_has_changed_under_an_index(pg_db: Database) -> None:
    pg_db.execute("CREATE COLLATION words (provider = icu, locale = 'en')")
    texts(pg_db, "words")
    postgres.changed_collation(pg_db, "words", "sv")
    assert in_table(pg_db, "SELECT s FROM t WHERE s = 'zebra'") == {("zebra",): 1}
    assert in_index(pg_db, "i", "SELECT s FROM t WHERE s = 'zebra'") == {}
    assert disagreement(pg_db, "i", "SELECT s FROM t") == (set(), set())
    assert postgres.own_checker(pg_db, "t") == ('item order invariant violated for index "i"',)


def test_a_function_redefined_under_an_index(pg_db: Database) -> None:
    pg_db.execute("CREATE TABLE t (id int PRIMARY KEY, v int)")
    pg_db.execute("INSERT INTO t SELECT n, 10 * n FROM generate_series(1, 20) n")
    pg_db.execute("CREATE FUNCTION f(a int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN a + 1; END'")
    pg_db.execute("CREATE INDEX i ON t (f(v))")
    postgres.redefined_function(pg_db, "f(int)", "BEGIN RETURN a + 11; END")
    assert in_table(pg_db, "SELECT id FROM t WHERE f(v) = 81") == {(7,): 1}
    assert fetched(pg_db, "i", "SELECT id FROM t WHERE f(v) = 81") == {(8,): 1}
    assert "lacks matching index tuple" in postgres.own_checker(pg_db, "t")[0]


# ---------------------------------------------------------------------------------------------------- not valid


@pytest.mark.parametrize(
    ("recipe", "column", "ready"), [(postgres.invalid_index, "a", False), (postgres.unfinished_index, "id", True)]
)
def test_an_index_that_was_given_up(pg_db: Database, recipe: Callable[..., None], column: str, ready: bool) -> None:
    pg_db.execute("CREATE TABLE t (id int PRIMARY KEY, a int); INSERT INTO t VALUES (1, 5), (2, 5), (3, 6)")
    recipe(pg_db, "t", "i", column)
    state = "SELECT indisvalid, indisready, indislive FROM pg_index WHERE indexrelid = 'i'::regclass"
    assert pg_db.rows(state) == [(False, ready, True)]
    assert postgres.own_checker(pg_db, "t") == ()
