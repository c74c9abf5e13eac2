"""Columns that keep their name and are others by now: what a publication records tells them apart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.decoding.following import Followed, following, table
from tieout.connectors.postgres.connection import connect
from tieout.connectors.postgres.wal import publication
from tieout.errors import UnsupportedError

T = table("t")


@pytest.fixture
def t(pg_db: Any) -> Iterator[Followed]:
    pg_db.execute("CREATE TABLE t (id int PRIMARY KEY, gone int, a int, b int)")
    pg_db.execute("ALTER TABLE t DROP COLUMN gone")
    with following(pg_db) as follow:
        yield follow("t")


def replaced(t: Followed) -> tuple[str, ...]:
    found = t.log.coverage([T])
    assert found.reasons.keys() == found.retyped.keys()
    return found.retyped[T].replaced if T in found.retyped else ()


def note_added(t: Followed, *columns: str) -> None:
    with connect(t.log.url, "tieout test") as connection:
        publication.note_added(connection, t.log.publication, T, columns)


@pytest.mark.parametrize(
    ("statements", "names"),
    [
        (["DROP COLUMN a, ADD COLUMN a int DEFAULT 3"], ("a",)),
        (["DROP COLUMN a", "ADD COLUMN a bigint"], ("a",)),
        (["RENAME a TO c", "RENAME b TO a"], ("a",)),
        (["RENAME a TO c", "RENAME b TO a", "RENAME c TO b"], ("b", "a")),
        # The log has these as they are: under another name, or no more.
        (["RENAME a TO c"], ()),
        (["RENAME a TO c", "RENAME c TO a"], ()),
        (["DROP COLUMN a", "ADD COLUMN c int"], ()),
    ],
)
def test_a_name_that_is_another_column(t: Followed, statements: list[str], names: tuple[str, ...]) -> None:
    for statement in statements:
        t.database.execute(f"ALTER TABLE t {statement}")
    assert sorted(replaced(t)) == sorted(names)


def test_what_is_accepted_is_not_reported_again(t: Followed) -> None:
    t.database.execute("ALTER TABLE t DROP COLUMN a, ADD COLUMN a int, ADD COLUMN c int")
    with connect(t.log.url, "tieout test") as connection:
        publication.accept(connection, t.log.publication, T, t.log.coverage([T]).retyped[T].state)
    assert replaced(t) == ()
    note_added(t, "c")
    t.database.execute("ALTER TABLE t DROP COLUMN a, ADD COLUMN a int")
    assert replaced(t) == ("a",)


def test_a_new_column_is_known_from_then_on(t: Followed) -> None:
    t.database.execute("ALTER TABLE t ADD COLUMN g int GENERATED ALWAYS AS (a) STORED, ADD COLUMN c int")
    note_added(t, "id", "a", "b", "c")
    note_added(t, "id", "a", "b", "c")
    t.database.execute("ALTER TABLE t ADD COLUMN d int, ADD COLUMN e int")
    note_added(t, "id", "a", "b", "c", "d", "e")
    assert replaced(t) == ()
    t.database.execute("ALTER TABLE t DROP COLUMN d, ADD COLUMN d int")
    assert replaced(t) == ("d",)


@pytest.mark.parametrize(
    ("statements", "logged", "reason"),
    [
        (["RENAME a TO c"], ["c"], "its column c is not new: it is a, which was renamed"),
        (["ADD COLUMN c int", "DROP COLUMN c, ADD COLUMN c int"], ["c"], "new columns were dropped or renamed"),
        (["ADD COLUMN c int", "ADD COLUMN d int", "RENAME c TO e", "RENAME d TO c"], ["c"], "may be another one"),
        (
            ["ADD COLUMN c int", "ADD COLUMN d int", "RENAME c TO e", "RENAME d TO c", "RENAME e TO d"],
            ["c", "d"],
            "c may be another one",
        ),
        (["ADD COLUMN c int", "RENAME c TO d"], ["c"], "its new column c was dropped or renamed again"),
    ],
)
def test_a_new_column_that_may_be_another_one(
    t: Followed, statements: list[str], logged: list[str], reason: str
) -> None:
    for statement in statements:
        t.database.execute(f"ALTER TABLE t {statement}")
    with pytest.raises(UnsupportedError, match=reason):
        note_added(t, *logged)


def test_what_an_earlier_version_recorded(t: Followed) -> None:
    """It had no numbers: the columns count as those that they are."""
    ((text,),) = t.database.rows("SELECT obj_description(oid, 'pg_publication') FROM pg_publication")
    noted = json.loads(text)
    for fact in ("numbers", "last"):
        del noted[str(T)][fact]
    t.database.execute(f"COMMENT ON PUBLICATION {t.log.publication} IS '{json.dumps(noted)}'")
    t.database.execute("ALTER TABLE t DROP COLUMN a, ADD COLUMN a int, ADD COLUMN c int")
    assert replaced(t) == ()
    t.database.execute("ALTER TABLE t DROP COLUMN a, ADD COLUMN a int")
    assert replaced(t) == ("a",)
    t.database.execute("ALTER TABLE t ALTER COLUMN c TYPE text")
    assert "c" in t.log.coverage([T]).retyped[T].columns


def test_a_partition_has_numbers_of_its_own(pg_db: Any) -> None:
    with following(pg_db) as follow:
        pg_db.execute("CREATE TABLE p (id int PRIMARY KEY, a int, b int) PARTITION BY RANGE (id)")
        pg_db.execute("CREATE TABLE low (x int, b int, y int, a int, id int NOT NULL)")
        pg_db.execute("ALTER TABLE low DROP COLUMN x, DROP COLUMN y")
        parts = follow("p")
        pg_db.execute("ALTER TABLE p ATTACH PARTITION low FOR VALUES FROM (0) TO (9)")
        assert parts.log.coverage([table("p")]).reasons == {}
        pg_db.execute("ALTER TABLE p DROP COLUMN b, ADD COLUMN b int")
        assert parts.log.coverage([table("p")]).retyped[table("p")].replaced == ("b",)
