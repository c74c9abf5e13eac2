"""Tables whose columns change while they are followed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.integration.moving.pairs import Moving
from tests.integration.moving.troubles import arrived, followed, until
from tests.integration.moving.two_tables import ONE, begin, begin_with, like_one
from tests.variants import later
from tieout import api
from tieout.errors import UnsupportedError
from tieout.model.positions import Position
from tieout.model.requests import TableRequest
from tieout.move.table_mover import TableMover


def test_an_added_column_is_followed(moving: Moving) -> None:
    asked = begin(moving)
    moving.source.execute("UPDATE one SET a = 1 WHERE id < 3")
    moving.source.execute("ALTER TABLE one ADD COLUMN b VARCHAR(20) DEFAULT 'as ever'")
    moving.source.execute("UPDATE one SET a = 2, b = 'new' WHERE id < 2")
    moving.source.execute("INSERT INTO one VALUES (100, 5, 'more')")
    moving.source.execute("UPDATE two SET a = 7 WHERE id = 1")
    status = asked.run()
    assert [table["stopped"] for table in status["tables"]] == [None, None]
    for table in ("one", "two"):
        source, target = moving.rows(table)
        assert source == target
    moving.source.execute("UPDATE one SET b = NULL WHERE id = 5")
    asked.run()
    source, target = moving.rows("one")
    assert source == target


@pytest.mark.parametrize("moving", ["mariadb-postgres", "postgres-mariadb"], indirect=True)
def test_a_column_that_is_added_while_the_table_is_copied(moving: Moving, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its first values were never read: the table is stopped rather than given other ones."""
    copy = TableMover._copy

    def change_and_copy(mover: TableMover, *args: Any) -> None:
        moving.source.execute("ALTER TABLE one ADD COLUMN b VARCHAR(20)")
        moving.source.execute("UPDATE one SET b = 'early' WHERE id < 3")
        copy(mover, *args)

    monkeypatch.setattr(TableMover, "_copy", change_and_copy)
    asked = begin(moving)
    status = api.move_status(asked.request.task, asked.meta)
    assert status is not None
    stopped = {table.source.rpartition(".")[2]: table.stopped for table in status.tables}
    assert "got a column b while it was copied" in stopped["one"]
    assert stopped["two"] is None


def test_a_renamed_column_stops_its_table_and_no_other(moving: Moving) -> None:
    asked = begin(moving)
    moving.source.execute("UPDATE one SET a = 1 WHERE id = 3")
    moving.source.execute("ALTER TABLE one RENAME COLUMN a TO other")
    moving.source.execute("UPDATE one SET other = 9 WHERE id = 4")
    moving.source.execute("UPDATE two SET a = 7 WHERE id = 1")
    stopped = {table["source"].split(".")[1]: table["stopped"] for table in asked.run()["tables"]}
    assert stopped["two"] is None
    assert "one no longer has a column a" in (stopped["one"] or "")
    assert moving.target.rows("SELECT a FROM one WHERE id IN (3, 4) ORDER BY id") == [(1,), (0,)]
    source, target = moving.rows("two")
    assert source == target
    moving.source.execute("UPDATE two SET a = 8 WHERE id = 2")
    again = asked.run()
    assert {table["source"].split(".")[1]: table["stopped"] for table in again["tables"]} == stopped, "it stays stopped"
    assert {table["source"].split(".")[1]: table["rows_copied"] for table in again["tables"]} == {"one": 20, "two": 20}
    assert again["state"] == "stopped in part"
    assert again["message"] == f"1 of 2 tables stopped: {stopped['one']}"
    source, target = moving.rows("two")
    assert source == target


def test_a_task_whose_tables_are_all_stopped(mariadb_to_postgres: Moving) -> None:
    moving = mariadb_to_postgres
    asked = begin(moving)
    for table in ("one", "two"):
        moving.source.execute(f"ALTER TABLE {table} RENAME COLUMN a TO other")
        moving.source.execute(f"UPDATE {table} SET other = 9 WHERE id = 4")
    for words in ("two no longer has a column a", "every table of the task .* is stopped: .* no longer has a column a"):
        with pytest.raises(UnsupportedError, match=words) as error:
            asked.run()
        assert error.value.hint is not None
        assert error.value.hint.startswith("copy a table again: tieout task restart")
        status = api.move_status(asked.request.task, asked.meta)
        assert status is not None
        assert status.state == "failed"
        assert all(table.stopped for table in status.tables)
        assert len(status.tables) == 2


def stopped_by(moving: Moving, statements: dict[str, list[str]], ending: str = "") -> dict[str, str]:
    """Why each table stopped, by the statements about it. `ending`: of those that make them.

    What was changed before has arrived, and the table that none of them is about goes on.
    """
    asked = begin_with(moving, {name: [like_one(name) + ending] for name in statements})
    for name, each in statements.items():
        moving.source.execute(f"UPDATE {name} SET a = 1 WHERE id = 3")
        for statement in each:
            moving.source.execute(statement)
    moving.source.execute("UPDATE two SET a = 7 WHERE id = 1")
    stopped = {table["source"].split(".")[1]: table["stopped"] for table in asked.run()["tables"]}
    assert stopped.pop("two") is None
    source, target = moving.rows("two")
    assert source == target
    assert stopped.keys() == statements.keys()
    for name in statements:
        assert moving.target.rows(f"SELECT a FROM {name} WHERE id IN (3, 4) ORDER BY id") == [(1,), (0,)], name
    return {name: reason or "" for name, reason in stopped.items()}


PARTITIONED = " PARTITION BY RANGE (id) (PARTITION low VALUES LESS THAN (10), PARTITION high VALUES LESS THAN MAXVALUE)"


MORE_THAN_IS_TOLD = {
    "swapped": (
        ["CREATE TABLE new LIKE swapped", "RENAME TABLE swapped TO old, new TO swapped"],
        "it was renamed to",
    ),
    "renamed": (["ALTER TABLE renamed RENAME TO older", "CREATE TABLE renamed LIKE older"], "it was renamed to"),
    "dropped": (["DROP TABLE dropped", like_one("dropped")], "it was dropped"),
    "replaced": (
        [ONE.replace("CREATE TABLE one", "CREATE OR REPLACE TABLE replaced"), "UPDATE replaced SET a = 5 WHERE id = 4"],
        "it was created again",
    ),
    "anew": (["ALTER TABLE anew DROP COLUMN a, ADD COLUMN a INT DEFAULT 3"], "no longer has a column a"),
    "later": (["ALTER TABLE later DROP COLUMN a", "ALTER TABLE later ADD COLUMN a INT"], "no longer has a column a"),
    "narrower": (
        ["ALTER TABLE narrower MODIFY a SMALLINT", "UPDATE narrower SET a = 9 WHERE id = 4"],
        "smallint may not",
    ),
    "words": (["ALTER TABLE words MODIFY a VARCHAR(20)"], "varchar(20) may not hold every value of int"),
    "back": (["ALTER TABLE back MODIFY a BIGINT", "ALTER TABLE back MODIFY a INT"], "was changed again later"),
    "pair": (["ALTER TABLE pair MODIFY a BIGINT, MODIFY id INT UNSIGNED"], "its column id was changed, perhaps"),
    "odd": (["ALTER TABLE odd MODIFY a BIGINT ZEROFILL"], "is not one that a mover understands"),
}
"""Statements, by the table that they stop, and why."""


def test_statements_that_change_more_than_the_log_tells(mariadb_to_postgres: Moving) -> None:
    stopped = stopped_by(mariadb_to_postgres, {name: each for name, (each, _) in MORE_THAN_IS_TOLD.items()})
    for name, (_, reason) in MORE_THAN_IS_TOLD.items():
        assert reason in stopped[name], name


def test_a_key_that_is_dropped(mariadb_to_postgres: Moving) -> None:
    moving = mariadb_to_postgres
    asked = begin(moving)

    def stopped() -> list[str | None]:
        status = api.move_status(asked.request.task, asked.meta)
        return [table.stopped for table in status.tables] if status else []

    with followed(asked):
        moving.source.execute("ALTER TABLE one DROP PRIMARY KEY")
        moving.source.execute("INSERT INTO one VALUES (3, 9)")
        moving.source.execute("UPDATE two SET a = 7 WHERE id = 1")
        until(lambda: arrived(moving, "two"))
    (reason, other) = stopped()
    assert "the key that identifies its rows was dropped" in (reason or "")
    assert other is None


def test_rows_that_go_with_their_partition(mariadb_to_postgres: Moving) -> None:
    emptied = ["ALTER TABLE emptied TRUNCATE PARTITION low"]
    cut = ["ALTER TABLE cut DROP PARTITION low"]
    stopped = stopped_by(mariadb_to_postgres, {"emptied": emptied, "cut": cut}, PARTITIONED)
    assert ["partition" in reason.lower() for reason in stopped.values()] == [True, True], stopped


def test_statements_that_leave_rows_as_they_are(mariadb_to_postgres: Moving) -> None:
    moving = mariadb_to_postgres
    asked = begin(moving)
    for statement in (
        "ALTER TABLE one ADD INDEX i (a), COMMENT = 'RENAME TO two', ALTER COLUMN a SET DEFAULT 5",
        "CREATE TABLE IF NOT EXISTS one (id INT)",
        "DROP INDEX i ON one",
        "ALTER TABLE one FORCE",
        "UPDATE one SET a = 8 WHERE id = 4",
        "TRUNCATE TABLE two",
    ):
        moving.source.execute(statement)
    assert [table["stopped"] for table in asked.run()["tables"]] == [None, None]
    for table in ("one", "two"):
        source, target = moving.rows(table)
        assert source == target


@pytest.mark.parametrize("pair", ["early", "late"])
def test_a_table_that_is_swapped_before_or_while_it_is_copied(
    mariadb_to_postgres: Moving, monkeypatch: pytest.MonkeyPatch, pair: str
) -> None:
    """Before its first chunk it is history; between two of them, rows of both tables came along."""
    moving = mariadb_to_postgres
    moving.source.execute(ONE)
    moving.source.executemany("INSERT INTO one VALUES (%s, 0)", [(n,) for n in range(20)])
    asked = moving.asking("one", chunk_rows=10)
    began = TableMover._begin_log

    def swap() -> None:
        moving.source.execute("CREATE TABLE new AS SELECT id, 5 AS a FROM one")
        moving.source.execute("ALTER TABLE new ADD PRIMARY KEY (id)")
        moving.source.execute("RENAME TABLE one TO old, new TO one")

    def begin_and_swap(mover: TableMover) -> Position:
        found = began(mover)
        swap()
        return found

    def copied(mover: TableMover, *args: Any) -> None:
        chunks = [chunk for chunk in mover._chunks() if chunk.held is None]
        whole(mover, args[0], chunks[:1], None)
        swap()
        whole(mover, args[0], chunks[1:], None)

    whole = TableMover._copy
    if pair == "early":
        monkeypatch.setattr(TableMover, "_begin_log", begin_and_swap)
        asked.run()
        source, target = moving.rows("one")
        assert source == target
    else:
        monkeypatch.setattr(TableMover, "_copy", copied)
        with pytest.raises(UnsupportedError, match="it was renamed to"):
            asked.run()


DJANGO = ["ALTER TABLE django ADD COLUMN b INT DEFAULT 5 NOT NULL", "ALTER TABLE django ALTER COLUMN b DROP DEFAULT"]
NEW_COLUMNS = {
    "django": DJANGO,
    "words": [
        "ALTER TABLE words ADD COLUMN b VARCHAR(9) DEFAULT 'o''ne'",
        "ALTER TABLE words ALTER COLUMN b SET DEFAULT 'two'",
    ],
    "days": [
        "ALTER TABLE days ADD COLUMN b DATE DEFAULT CURRENT_DATE - 7",
        "ALTER TABLE days ALTER b SET DEFAULT CURRENT_DATE",
    ],
    "flags": ["ALTER TABLE flags ADD COLUMN b BOOLEAN DEFAULT true", "ALTER TABLE flags ALTER b DROP DEFAULT"],
}
"""Statements that give a table a column, by table."""


@pytest.mark.parametrize("moving", [later("postgres-postgres"), "postgres-mariadb"], indirect=True)
def test_rows_keep_what_they_got_with_a_new_column(moving: Moving) -> None:
    asked = begin_with(moving, {name: [like_one(name)] for name in NEW_COLUMNS})
    for name, statements in NEW_COLUMNS.items():
        for statement in (*statements, f"INSERT INTO {name} (id, a, b) SELECT 100, a, b FROM {name} WHERE id = 1"):
            moving.source.execute(statement)
    status = asked.run()
    assert [table["stopped"] for table in status["tables"]] == [None] * (len(NEW_COLUMNS) + 1)
    for name in NEW_COLUMNS:
        source, target = moving.rows(name)
        assert source == target, name


@pytest.mark.parametrize("statement", ["ALTER TABLE one ADD COLUMN b TIMESTAMP DEFAULT clock_timestamp()"])
@pytest.mark.parametrize("moving", ["postgres-mariadb"], indirect=True)
def test_a_new_column_whose_first_values_nobody_knows(moving: Moving, statement: str) -> None:
    asked = begin(moving)
    moving.source.execute(statement)
    moving.source.execute("UPDATE one SET a = 9 WHERE id = 4")
    stopped = {table["source"].split(".")[1]: table["stopped"] for table in asked.run()["tables"]}
    assert "the value that existing rows got in the new column b is unknown" in (stopped["one"] or "")


OWN = {
    "mine": (
        "note VARCHAR(9)",
        ["ALTER TABLE mine ADD COLUMN note VARCHAR(9) NOT NULL DEFAULT 'x'"],
        "already has a column note, with other values",
    ),
    "days": (
        "d DATE",
        ["ALTER TABLE days ADD COLUMN d DATETIME(6)"],
        "already has a column d, which does not fit: date",
    ),
    "alike": ("note TEXT DEFAULT 'x'", ["ALTER TABLE alike ADD COLUMN note VARCHAR(9) NOT NULL DEFAULT 'x'"], None),
    "empty": ("note INT", ["ALTER TABLE empty ADD COLUMN note INT"], None),
}
"""A column that a user's table on the target already has, statements that add it at the source, and what stops it."""


def test_a_new_column_that_the_target_already_has(mariadb_to_postgres: Moving) -> None:
    moving = mariadb_to_postgres
    for name, (column, _, _) in OWN.items():
        moving.target.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY, a INT, {column})")
    asked = begin_with(moving, {name: [like_one(name)] for name in OWN})
    for name, (_, statements, _) in OWN.items():
        for statement in (*statements, f"UPDATE {name} SET a = 1 WHERE id = 3"):
            moving.source.execute(statement)
    stopped = {table["source"].split(".")[1]: table["stopped"] for table in asked.run()["tables"]}
    for name, (_, _, reason) in OWN.items():
        if reason is None:
            assert stopped[name] is None
            source, target = moving.rows(name)
            assert source == target
        else:
            assert reason in (stopped[name] or ""), name


def test_tables_that_are_merged_get_a_column_one_by_one(mariadb_to_postgres: Moving) -> None:
    """Each with a default of its own, while the other's rows have other values already."""
    moving = mariadb_to_postgres
    for name in ("o_1", "o_2", "o_3"):
        moving.source.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY, a INT)")
        moving.source.execute(f"INSERT INTO {name} VALUES (1, 1), (2, 2)")
    merged = TableRequest("o_*", "public.o", expressions={"shard": ("_table", "")})
    asked = replace(moving.asking(), request=replace(moving.request, tables=(merged,)))
    asked.run()
    for name, default in (("o_1", "DEFAULT 'a'"), ("o_2", "DEFAULT 'b'"), ("o_3", "")):
        moving.source.execute(f"ALTER TABLE {name} ADD COLUMN note VARCHAR(9) {default}")
        moving.source.execute(f"UPDATE {name} SET note = 'new' WHERE id = 2")
        asked.run()
    found = moving.target.rows("SELECT shard, id, a, note FROM o ORDER BY 1, 2")
    assert found == [
        (name, number, number, note)
        for name, first in (("o_1", "a"), ("o_2", "b"), ("o_3", None))
        for number, note in ((1, first), (2, "new"))
    ]


def test_a_new_column_that_is_named_like_a_computed_one(mariadb_to_postgres: Moving) -> None:
    """Its values are not moved: the task says what is in the target's column."""
    moving = mariadb_to_postgres
    names = ("same", "cased", "renamed")
    for name in names:
        moving.source.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY, price INT, qty INT)")
        moving.source.execute(f"INSERT INTO {name} VALUES (1, 2, 3), (2, 3, 4)")
    tables = [
        TableRequest(
            name,
            exclude_columns=("price", "qty"),
            expressions={"total": ("price" if name == "renamed" else "price * qty", "")},
        )
        for name in names
    ]
    asked = replace(moving.asking(), request=replace(moving.request, tables=tuple(tables)))
    asked.run()
    for name in names:
        added = "TOTAL" if name == "cased" else "total"
        moving.source.execute(f"ALTER TABLE {name} ADD COLUMN {added} INT DEFAULT 9, ADD COLUMN note INT DEFAULT 5")
        moving.source.execute(f"UPDATE {name} SET price = 10, note = 6 WHERE id = 1")
    for _ in range(2):
        assert [table["stopped"] for table in asked.run()["tables"]] == [None] * 3
        for name in names:
            first, second = (10, 3) if name == "renamed" else (30, 12)
            assert sorted(moving.target.rows(f"SELECT * FROM {name}")) == [(1, first, 6), (2, second, 5)], name
        for name in names:
            moving.source.execute(f"UPDATE {name} SET note = 6 WHERE id = 1")


def test_a_new_column_beside_one_that_the_target_can_not_hold(mariadb_to_postgres: Moving) -> None:
    moving = mariadb_to_postgres
    moving.source.execute(
        "CREATE TABLE places (id INT AUTO_INCREMENT PRIMARY KEY, a INT, geom GEOMETRY, "
        "at DATETIME DEFAULT CURRENT_TIMESTAMP, KEY (a), KEY (at))"
    )
    moving.source.execute("INSERT INTO places (a) VALUES (1), (2)")
    table = TableRequest("places", exclude_columns=("geom", "at"))
    asked = replace(moving.asking(), request=replace(moving.request, tables=(table,)))
    asked.run()
    moving.source.execute("ALTER TABLE places ADD COLUMN note VARCHAR(20) NOT NULL DEFAULT 'x'")
    moving.source.execute("UPDATE places SET note = 'new' WHERE id = 1")
    assert [table["stopped"] for table in asked.run()["tables"]] == [None]
    assert sorted(moving.target.rows("SELECT id, a, note FROM places")) == [(1, 1, "new"), (2, 2, "x")]


OTHER_BY_NOW = {
    "django": (DJANGO, "has another default by now"),
    "moments": (["ALTER TABLE moments ADD COLUMN b DATETIME DEFAULT CURRENT_TIMESTAMP"], "computes itself"),
    "counted": (["ALTER TABLE counted ADD COLUMN b INT AUTO_INCREMENT UNIQUE"], "computes itself"),
}
"""Statements, by the table that they stop, and why."""


@pytest.mark.parametrize("moving", [later("mariadb-mariadb"), "mariadb-postgres"], indirect=True)
def test_a_default_that_is_another_by_now(moving: Moving) -> None:
    stopped = stopped_by(moving, {name: each for name, (each, _) in OTHER_BY_NOW.items()})
    for name, (_, reason) in OTHER_BY_NOW.items():
        assert reason in stopped[name], name


@pytest.mark.parametrize("moving", [later("mariadb-mariadb"), "mariadb-postgres"], indirect=True)
def test_a_new_column_that_is_computed(moving: Moving) -> None:
    """A server of the same kind computes it too; elsewhere nobody knows what rows got in it."""
    asked = begin(moving)
    moving.source.execute("ALTER TABLE one ADD COLUMN b INT GENERATED ALWAYS AS (a + 1) PERSISTENT")
    moving.source.execute("UPDATE one SET a = 9 WHERE id = 4")
    stopped = {table["source"].split(".")[1]: table["stopped"] for table in asked.run()["tables"]}
    if moving.target.server.scheme == "mysql":
        assert stopped["one"] is None
        assert moving.rows("one")[0] == moving.rows("one")[1]
    else:
        assert "is generated" in (stopped["one"] or "")
