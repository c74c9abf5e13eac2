"""Tables whose columns change while they are followed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.moving.pairs import Moving
from tieout import api
from tieout.errors import UnsupportedError
from tieout.move.mover import Mover

ONE = "CREATE TABLE one (id INT PRIMARY KEY, a INT)"
TWO = "CREATE TABLE two (id INT PRIMARY KEY, a INT)"


def begin(moving: Moving) -> Moving:
    for statement in (ONE, TWO):
        moving.source.execute(statement)
    for table in ("one", "two"):
        moving.source.executemany(f"INSERT INTO {table} VALUES (%s, 0)", [(n,) for n in range(20)])
    asked = moving.asking("one", "two")
    asked.run()
    return asked


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
    copy = Mover._copy

    def change_and_copy(mover: Mover, *args: Any) -> None:
        moving.source.execute("ALTER TABLE one ADD COLUMN b VARCHAR(20)")
        moving.source.execute("UPDATE one SET b = 'early' WHERE id < 3")
        copy(mover, *args)

    monkeypatch.setattr(Mover, "_copy", change_and_copy)
    asked = begin(moving)
    status = api.move_status(asked.request.task, asked.meta)
    assert status is not None
    stopped = {table["source"].rpartition(".")[2]: table["stopped"] for table in status["tables"]}
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
    assert "one has no column a any more" in (stopped["one"] or "")
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
    for words in ("two has no column a any more", "every table of the task .* is stopped: .* has no column a any more"):
        with pytest.raises(UnsupportedError, match=words) as error:
            asked.run()
        assert error.value.hint == "drop the task and begin anew"
        status = api.move_status(asked.request.task, asked.meta)
        assert status is not None
        assert status["state"] == "failed"
        assert all(table["stopped"] for table in status["tables"])
        assert len(status["tables"]) == 2
