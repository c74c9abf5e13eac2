"""Entries of SQLite's indexes really disagree with the table, in the way that was asked for and in no other."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from tests.corruption import sqlite
from tests.corruption.errors import NotDone
from tests.integration.corruption.sqlite_reads import disagreement, fetched, in_index, in_table

if TYPE_CHECKING:
    from tests.servers.sqlite import SqliteDatabase

Create = Callable[[str], "SqliteDatabase"]

TABLES = {
    "rowid": "CREATE TABLE t (id INTEGER PRIMARY KEY, v INT, s TEXT, g INT AS (v * 2) STORED)",
    "hidden rowid": "CREATE TABLE t (id INT PRIMARY KEY, v INT, s TEXT)",
    "no rowid": "CREATE TABLE t (id INT PRIMARY KEY, v INT, s TEXT) WITHOUT ROWID",
}
INDEXES = {
    "plain": "CREATE INDEX i ON t (v, id)",
    "descending": "CREATE INDEX i ON t (v DESC, id)",
    "unique": "CREATE UNIQUE INDEX i ON t (v, id)",
    "partial": "CREATE INDEX i ON t (v, id) WHERE v > 0",
    "expression": "CREATE INDEX i ON t (v % 100, v, id)",
}


@pytest.fixture(params=product(TABLES, INDEXES), ids=", ".join)
def table(request: pytest.FixtureRequest, sqlite_db: Create) -> SqliteDatabase:
    table, index = request.param
    return filled(sqlite_db, TABLES[table], INDEXES[index])


def filled(create: Create, *statements: str) -> SqliteDatabase:
    database = create("db")
    for statement in statements:
        database.execute(statement)
    database.executemany("INSERT INTO t (id, v, s) VALUES (?, ?, 'x')", [(n, 10 * n) for n in range(1, 21)])
    return database


def test_a_sound_table(table: SqliteDatabase) -> None:
    assert disagreement(table, "t", "i", "v, id", "v > 0") == (set(), set())
    assert sqlite.own_checker(table, "t") == ()


@pytest.mark.parametrize(
    ("recipe", "values", "differences", "words"),
    [
        (sqlite.missing_entry, (), ({(70, 7)}, set()), ("row 7 missing from index i", "wrong # of entries in index i")),
        (sqlite.dangling_entry, (), (set(), {(70, 7)}), ("wrong # of entries in index i",)),
        (sqlite.wrong_row_entry, ({"v": 71},), (set(), {(70, 7)}), ("wrong # of entries in index i",)),
        (sqlite.stale_entry, ({"v": 71},), ({(71, 7)}, {(70, 7)}), ("row 7 missing from index i",)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_an_entry(
    table: SqliteDatabase, recipe: Callable[..., None], values: Any, differences: Any, words: tuple[str, ...]
) -> None:
    recipe(table, "t", "i", "id = 7", *values)
    assert disagreement(table, "t", "i", "v, id", "v > 0") == differences
    assert sqlite.own_checker(table, "t") == words
    assert table.rows("PRAGMA integrity_check") == [(word,) for word in words]


@pytest.mark.parametrize("recipe", [sqlite.wrong_row_entry, sqlite.stale_entry])
def test_an_entry_that_leads_to_a_row_with_another_key(sqlite_db: Create, recipe: Callable[..., None]) -> None:
    database = filled(sqlite_db, TABLES["rowid"], INDEXES["plain"])
    recipe(database, "t", "i", "id = 7", {"v": 71, "s": "y"})
    assert fetched(database, "t", "i", "v, id, s", "v = 70") == {(70, 7, "y"): 1}
    assert in_table(database, "t", "v, id, s", "id = 7") == {(71, 7, "y"): 1}


def test_a_dangling_entry_can_not_be_followed(sqlite_db: Create) -> None:
    database = filled(sqlite_db, TABLES["rowid"], INDEXES["plain"])
    sqlite.dangling_entry(database, "t", "i", "id IN (7, 8)")
    assert in_index(database, "t", "i", "v, id", "v IN (70, 80)") == {(70, 7): 1, (80, 8): 1}
    with pytest.raises(sqlite3.DatabaseError, match="malformed"):
        fetched(database, "t", "i", "v, id, s", "v = 70")


def test_one_of_two_identical_indexes(sqlite_db: Create) -> None:
    database = filled(sqlite_db, TABLES["rowid"], INDEXES["plain"], "CREATE INDEX twin ON t (v, id)")
    sqlite.stale_entry(database, "t", "i", "id = 7", {"v": 71})
    sqlite.missing_entry(database, "t", "i", "id = 8")
    sqlite.dangling_entry(database, "t", "i", "id = 9")
    assert disagreement(database, "t", "i", "v, id") == ({(71, 7), (80, 8)}, {(70, 7), (90, 9)})
    assert disagreement(database, "t", "twin", "v, id") == (set(), set())


def test_a_row_that_has_left_a_partial_index(sqlite_db: Create) -> None:
    database = filled(sqlite_db, TABLES["rowid"], "CREATE INDEX i ON t (v, id, s) WHERE s = 'x'")
    sqlite.stale_entry(database, "t", "i", "id = 7", {"s": "gone"})
    assert disagreement(database, "t", "i", "v, id", "s = 'x'") == (set(), {(70, 7)})
    assert sqlite.own_checker(database, "t") == ("wrong # of entries in index i",)


# -------------------------------------------------------------------------------------------------------- unique


@pytest.mark.parametrize("table", TABLES)
def test_a_key_twice_in_a_unique_index(sqlite_db: Create, table: str) -> None:
    database = filled(sqlite_db, TABLES[table], "CREATE UNIQUE INDEX i ON t (v)")
    sqlite.duplicate_entry(database, "t", "i", "id = 7", {"id": 99})
    assert in_table(database, "t", "v", "v = 70") == {(70,): 2}
    # For v = 70 it would look no further than the first.
    assert in_index(database, "t", "i", "v", "v BETWEEN 70 AND 70") == {(70,): 2}
    assert sqlite.own_checker(database, "t") == ("non-unique entry in index i",)
    with pytest.raises(sqlite3.IntegrityError):
        database.execute("INSERT INTO t (id, v) VALUES (100, 80)")


@pytest.mark.parametrize("table", TABLES)
def test_a_key_twice_in_a_table_and_once_in_its_unique_index(sqlite_db: Create, table: str) -> None:
    database = filled(sqlite_db, TABLES[table].replace("v INT,", "v INT UNIQUE,"))
    index = database.rows("SELECT name FROM pragma_index_list('t') WHERE origin = 'u'")[0][0]
    sqlite.duplicate_without_entry(database, "t", index, "id = 7", {"id": 99})
    assert in_table(database, "t", "v", "v = 70") == {(70,): 2}
    assert in_index(database, "t", index, "v", "v = 70") == {(70,): 1}
    assert sqlite.own_checker(database, "t") == (
        f"row 21 missing from index {index}",
        f"wrong # of entries in index {index}",
    )
    with pytest.raises(sqlite3.IntegrityError):
        database.execute("INSERT INTO t (id, v) VALUES (100, 80)")


def test_a_primary_key_twice(sqlite_db: Create) -> None:
    database = filled(sqlite_db, TABLES["hidden rowid"])
    sqlite.duplicate_without_entry(database, "t", "sqlite_autoindex_t_1", "id = 7", {"v": 71})
    assert in_table(database, "t", "id", "id = 7") == {(7,): 2}
    assert in_index(database, "t", "sqlite_autoindex_t_1", "id", "id = 7") == {(7,): 1}
    with pytest.raises(NotDone, match="no statement made sqlite_autoindex_t_1"):
        sqlite.duplicate_entry(database, "t", "sqlite_autoindex_t_1", "id = 8", {"v": 81})


# ---------------------------------------------------------------------------------------- what an index is said to be


@pytest.mark.parametrize(
    ("index", "old", "new", "where", "found"),
    [
        ("CREATE INDEX i ON t (v + 1, id)", "v + 1", "v + 11", "v + 11 = 81", {(8,): 1}),
        ("CREATE INDEX i ON t (v DESC, id)", "v DESC", "v", "v = 70", {}),
        ("CREATE INDEX i ON t (v, id) WHERE v > 100", "v > 100", "v > 50", "v > 50 AND v < 100", {}),
    ],
    ids=["expression", "order", "condition"],
)
def test_an_index_of_something_else(
    sqlite_db: Create, index: str, old: str, new: str, where: str, found: dict[Any, int]
) -> None:
    database = filled(sqlite_db, TABLES["rowid"], index)
    sqlite.redeclared(database, "i", old, new)
    expected = in_table(database, "t", "id", where)
    assert set() < set(expected) != set(found)
    assert Counter(database.rows(f"SELECT id FROM t INDEXED BY i WHERE {where}")) == found
    assert sqlite.own_checker(database, "t")
