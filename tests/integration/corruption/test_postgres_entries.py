"""Entries of PostgreSQL's indexes really disagree with the table, in the way that was asked for and in no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.corruption import postgres
from tests.corruption.errors import NotDone
from tests.integration.corruption.postgres_reads import disagreement, fetched, fill, in_index, in_table

if TYPE_CHECKING:
    from tests.servers.server import Database

ROWS = "SELECT v, id FROM t WHERE v > 0"
INDEXES = {
    "plain": "CREATE INDEX i ON t (v, id)",
    "descending": "CREATE INDEX i ON t (v DESC, id)",
    "unique": "CREATE UNIQUE INDEX i ON t (v) INCLUDE (id)",
    "partial": "CREATE INDEX i ON t (v, id) WHERE v > 0",
    "expression": "CREATE INDEX i ON t ((v % 100), v, id)",
}
LACKS = "lacks matching index tuple"


@pytest.fixture(params=INDEXES)
def table(request: pytest.FixtureRequest, pg_db: Database) -> Database:
    return filled(pg_db, INDEXES[request.param])


def filled(database: Database, *statements: str) -> Database:
    database.execute("CREATE TABLE t (id int PRIMARY KEY, v int, s text, g int GENERATED ALWAYS AS (v * 2) STORED)")
    for statement in statements:
        database.execute(statement)
    fill(database, "t", "INSERT INTO t (id, v, s) SELECT n, 10 * n, 'x' FROM generate_series(1, 20) n")
    return database


def finds(database: Database, words: str | None) -> bool:
    said = postgres.own_checker(database, "t")
    return words in said[0] if words else said == ()


def test_a_sound_table(table: Database) -> None:
    assert disagreement(table, "i", ROWS) == (set(), set())
    assert finds(table, None)


@pytest.mark.parametrize(
    ("recipe", "values", "differences", "words"),
    [
        (postgres.missing_entry, (), ({(70, 7)}, set()), LACKS),
        (postgres.dangling_entry, (), (set(), {(70, 7)}), None),
        (postgres.wrong_row_entry, ({"id": 99, "v": 990},), (set(), {(70, 7)}), None),
        (postgres.stale_entry, ({"v": 71},), ({(71, 7)}, {(70, 7)}), LACKS),
        (postgres.stale_entry_of_a_chain, ({"v": 71},), ({(71, 7)}, {(70, 7)}), LACKS),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_an_entry(table: Database, recipe: Callable[..., None], values: Any, differences: Any, words: str) -> None:
    recipe(table, "t", "i", "id = 7", *values)
    assert disagreement(table, "i", ROWS) == differences
    assert disagreement(table, "t_pkey", "SELECT id FROM t") == (set(), set())
    assert finds(table, words)


@pytest.mark.parametrize(
    ("recipe", "values", "row"),
    [
        (postgres.wrong_row_entry, {"id": 99, "v": 990}, (990, 99)),
        (postgres.stale_entry, {"v": 71}, (71, 7)),
        (postgres.stale_entry_of_a_chain, {"v": 71}, (71, 7)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_an_entry_that_leads_to_a_row_with_another_key(
    pg_db: Database, recipe: Callable[..., None], values: dict[str, int], row: tuple[int, int]
) -> None:
    filled(pg_db, INDEXES["plain"])
    recipe(pg_db, "t", "i", "id = 7", values)
    assert fetched(pg_db, "i", "SELECT v, id FROM t WHERE v = 70") == {row: 1}
    assert in_table(pg_db, "SELECT v, id FROM t WHERE v = 70") == {}


def test_a_dangling_entry_hides_from_those_who_follow_it(pg_db: Database) -> None:
    filled(pg_db, INDEXES["plain"])
    postgres.dangling_entry(pg_db, "t", "i", "id IN (7, 8)")
    assert in_index(pg_db, "i", "SELECT v, id FROM t WHERE v IN (70, 80)") == {(70, 7): 1, (80, 8): 1}
    assert fetched(pg_db, "i", "SELECT v, id FROM t WHERE v = 70") == {}
    assert in_index(pg_db, "i", "SELECT v, id FROM t WHERE v IN (70, 80)") == {(80, 8): 1}


def test_a_copy_that_differs(pg_db: Database) -> None:
    filled(pg_db, "CREATE INDEX i ON t (v, id) INCLUDE (s)")
    postgres.wrong_stored_value(pg_db, "t", "i", "id = 7", {"s": "y"})
    assert disagreement(pg_db, "i", "SELECT v, id, s FROM t") == ({(70, 7, "y")}, {(70, 7, "x")})
    assert disagreement(pg_db, "i", "SELECT v, id FROM t") == (set(), set())
    assert finds(pg_db, LACKS)


def test_a_row_that_has_left_a_partial_index(pg_db: Database) -> None:
    filled(pg_db, "CREATE INDEX i ON t (v, id) WHERE s = 'x'")
    postgres.stale_entry(pg_db, "t", "i", "id = 7", {"s": "gone"})
    assert disagreement(pg_db, "i", "SELECT v, id FROM t WHERE s = 'x'") == (set(), {(70, 7)})
    assert finds(pg_db, None)


def test_one_of_two_identical_indexes(pg_db: Database) -> None:
    filled(pg_db, "CREATE INDEX i ON t (v, id)", "CREATE INDEX twin ON t (v, id)")
    postgres.stale_entry(pg_db, "t", "i", "id = 7", {"v": 71})
    postgres.missing_entry(pg_db, "t", "i", "id = 8")
    assert disagreement(pg_db, "i", ROWS) == ({(71, 7), (80, 8)}, {(70, 7)})
    assert disagreement(pg_db, "twin", ROWS) == (set(), set())
    with pytest.raises(NotDone, match="another index"):
        postgres.stale_entry_of_a_chain(pg_db, "t", "i", "id = 9", {"v": 91})


def test_many_pages_and_names_that_need_quotes(pg_db: Database) -> None:
    pg_db.execute('CREATE TABLE "My T" ("Id" int PRIMARY KEY, "V" int); CREATE INDEX "My I" ON "My T" ("V", "Id")')
    fill(pg_db, "My T", 'INSERT INTO "My T" SELECT n, 10 * n FROM generate_series(1, 2000) n')
    fill(pg_db, "My T", 'DELETE FROM "My T" WHERE "Id" BETWEEN 20 AND 200 AND "Id" % 2 = 0')
    postgres.stale_entry(pg_db, "My T", "My I", '"Id" = 7', {"V": 71})
    postgres.wrong_row_entry(pg_db, "My T", "My I", '"Id" = 1000', {"Id": 3000, "V": 5})
    postgres.missing_entry(pg_db, "My T", "My I", '"Id" IN (500, 501)')
    postgres.dangling_entry(pg_db, "My T", "My I", '"Id" IN (300, 2000)')
    assert disagreement(pg_db, "My I", 'SELECT "Id" , "V" FROM "My T"') == (
        {(7, 71), (500, 5000), (501, 5010)},
        {(7, 70), (1000, 10000), (300, 3000), (2000, 20000)},
    )
    assert fetched(pg_db, "My I", 'SELECT "Id", "V" FROM "My T" WHERE "V" IN (70, 10000)') == {(7, 71): 1, (3000, 5): 1}


def test_a_hash_index(pg_db: Database) -> None:
    filled(pg_db, "CREATE INDEX i ON t USING hash (v)")
    postgres.missing_entry(pg_db, "t", "i", "id = 7")
    assert in_table(pg_db, "SELECT v, id FROM t WHERE v = 70") == {(70, 7): 1}
    assert fetched(pg_db, "i", "SELECT v, id FROM t WHERE v = 70") == {}
    assert finds(pg_db, None)


def test_a_row_that_is_not_there(pg_db: Database) -> None:
    filled(pg_db, INDEXES["plain"])
    with pytest.raises(NotDone, match="no row of t is id = 77"):
        postgres.missing_entry(pg_db, "t", "i", "id = 77")
    assert disagreement(pg_db, "i", ROWS) == (set(), set())
