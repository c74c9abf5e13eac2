"""Entries of MariaDB's indexes really disagree with the table, in the way that was asked for and in no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pymysql
import pytest

from tests.corruption import mariadb
from tests.corruption.errors import NotDone
from tests.integration.corruption.mariadb_reads import disagreement, fetched, in_index, in_table

if TYPE_CHECKING:
    from tests.servers.server import Database

INDEX = "KEY i (v, id)"
FILES = ["MyISAM", "MyISAM ROW_FORMAT=DYNAMIC", "Aria", "Aria TRANSACTIONAL=0"]
NONE: set[Any] = set()


def filled(database: Database, index: str, engine: str = "InnoDB", rows: int = 20) -> Database:
    database.execute(
        f"CREATE TABLE t (id INT PRIMARY KEY, v INT, s CHAR(5), g INT AS (v * 2) STORED, {index}) ENGINE={engine}"
    )
    database.executemany("INSERT INTO t (id, v, s) VALUES (%s, %s, 'x')", [(n, 10 * n) for n in range(1, rows + 1)])
    return database


def finds(database: Database, words: str | None) -> bool:
    said = mariadb.own_checker(database, "t")
    return any(words in text for text in said) if words else said == ()


@pytest.mark.parametrize("engine", ["InnoDB", *FILES])
def test_a_sound_table(mysql_db: Database, engine: str) -> None:
    filled(mysql_db, INDEX, engine)
    assert disagreement(mysql_db, "t", "i", "v, id") == (NONE, NONE)
    assert finds(mysql_db, None)


@pytest.mark.parametrize(
    ("recipe", "values", "differences", "words"),
    [
        (mariadb.missing_entry, (), ({(70, 7)}, NONE), "contains 19 entries, should be 20"),
        (mariadb.delete_marked_entry, (), ({(70, 7)}, NONE), None),
        (mariadb.dangling_entry, (), (NONE, {(70, 7)}), "Clustered index record not found"),
        (mariadb.wrong_row_entry, ({"v": 71},), (NONE, {(70, 7)}), "Clustered index record not found"),
        # It names the entry too, but only once something else was purged after the start of the server.
        (mariadb.stale_entry, ({"v": 71},), ({(71, 7)}, {(70, 7)}), "contains 19 entries, should be 20"),
        (mariadb.stale_entry, ({"id": 99},), ({(70, 99)}, {(70, 7)}), "Clustered index record not found"),
    ],
    ids=["missing", "delete-marked", "dangling", "wrong row", "stale", "stale primary key"],
)
def test_an_entry_of_innodb(
    mysql_db: Database, recipe: Callable[..., None], values: Any, differences: Any, words: str | None
) -> None:
    filled(mysql_db, "KEY i (v, id), KEY twin (v, id)")
    recipe(mysql_db, "t", "i", "id = 7", *values)
    assert disagreement(mysql_db, "t", "i", "v, id") == differences
    assert disagreement(mysql_db, "t", "twin", "v, id") == (NONE, NONE)
    assert finds(mysql_db, words)


@pytest.mark.parametrize(
    "index", ["KEY i (v DESC, id)", "UNIQUE i (v, id)", "KEY i (v)", "KEY i (g, v)", "KEY i (s, v)"]
)
def test_kinds_of_indexes_of_innodb(mysql_db: Database, index: str) -> None:
    filled(mysql_db, index)
    mariadb.stale_entry(mysql_db, "t", "i", "id = 7", {"v": 71})
    assert disagreement(mysql_db, "t", "i", "v, id") == ({(71, 7)}, {(70, 7)})


@pytest.mark.parametrize("engine", FILES)
@pytest.mark.parametrize(
    ("recipe", "values", "differences"),
    [
        (mariadb.missing_entry, (), ({(70, 7)}, NONE)),
        (mariadb.dangling_entry, (), (NONE, {(70, 7)})),
        (mariadb.stale_entry, ({"v": 71},), ({(71, 7)}, {(70, 7)})),
    ],
    ids=["missing", "dangling", "stale"],
)
def test_an_entry_in_a_file_of_indexes(
    mysql_db: Database, engine: str, recipe: Callable[..., None], values: Any, differences: Any
) -> None:
    filled(mysql_db, INDEX, engine)
    recipe(mysql_db, "t", "i", "id = 7", *values)
    assert disagreement(mysql_db, "t", "i", "v, id") == differences
    assert finds(mysql_db, "Corrupt")


def test_where_entries_lead(mysql_db: Database) -> None:
    filled(mysql_db, INDEX)
    mariadb.stale_entry(mysql_db, "t", "i", "id = 7", {"v": 71})
    mariadb.dangling_entry(mysql_db, "t", "i", "id = 8")
    mariadb.stale_entry(mysql_db, "t", "i", "id = 9", {"id": 8})
    mariadb.wrong_row_entry(mysql_db, "t", "i", "id = 10", {"v": 101})
    assert fetched(mysql_db, "t", "i", "v, id, s", "v = 70") == {(71, 7, "x"): 1}
    assert fetched(mysql_db, "t", "i", "v, id, s", "v = 80") == {(90, 8, "x"): 1}
    assert fetched(mysql_db, "t", "i", "v, id, s", "v = 100") == {(101, 10, "x"): 1}
    with pytest.raises(pymysql.err.OperationalError, match="Index for table 't' is corrupt"):
        fetched(mysql_db, "t", "i", "v, id, s", "v = 90")


def test_many_pages(mysql_db: Database) -> None:
    filled(mysql_db, INDEX, rows=5000)
    mariadb.missing_entry(mysql_db, "t", "i", "id IN (7, 2500)")
    mariadb.dangling_entry(mysql_db, "t", "i", "id = 4000")
    assert disagreement(mysql_db, "t", "i", "v, id") == ({(70, 7), (25000, 2500)}, {(40000, 4000)})


def test_a_row_that_has_grown_is_refused(mysql_db: Database) -> None:
    mysql_db.execute("CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(50), KEY i (s)) ENGINE=MyISAM")
    mysql_db.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    with pytest.raises(NotDone, match="has grown"):
        mariadb.stale_entry(mysql_db, "t", "i", "id = 1", {"s": "a" * 50})
    assert finds(mysql_db, None)


# -------------------------------------------------------------------------------------------------------- unique


@pytest.mark.parametrize("engine", ["InnoDB", *FILES])
def test_a_key_twice_in_a_unique_index(mysql_db: Database, engine: str) -> None:
    filled(mysql_db, "UNIQUE i (v)", engine)
    mariadb.duplicate_entry(mysql_db, "t", "i", "id = 7", {"id": 99})
    assert in_table(mysql_db, "t", "v", "v = 70") == {(70,): 2}
    assert in_index(mysql_db, "t", "i", "v")[(70,)] == 2
    assert "UNIQUE KEY `i` (`v`)" in mysql_db.rows("SHOW CREATE TABLE t")[0][1]
    assert finds(mysql_db, None)


def test_a_key_twice_in_a_table_and_once_in_its_unique_index(mysql_db: Database) -> None:
    filled(mysql_db, "UNIQUE i (v)")
    mariadb.duplicate_without_entry(mysql_db, "t", "i", "id = 7", {"id": 99})
    assert in_table(mysql_db, "t", "v, id", "v = 70") == {(70, 7): 1, (70, 99): 1}
    assert disagreement(mysql_db, "t", "i", "v, id") == ({(70, 7)}, NONE)
    with pytest.raises(pymysql.err.IntegrityError):
        mysql_db.execute("INSERT INTO t (id, v) VALUES (100, 80)")
    assert finds(mysql_db, "contains 20 entries, should be 21")
