"""Tables of PostgreSQL that became others while they were followed: its log does not tell."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.moving.pairs import Moving
from tests.integration.moving.test_work_on_the_way import asking
from tests.integration.moving.troubles import arrived, followed, until
from tests.integration.moving.two_tables import ONE, begin, begin_with, like_one
from tieout import api
from tieout.model.documents import move_status_document
from tieout.model.requests import TableRequest
from tieout.move import table_mover

PARTITIONED = f"{ONE} PARTITION BY RANGE (id)"
LOW = "CREATE TABLE low PARTITION OF one FOR VALUES FROM (0) TO (10)"
HIGH = "CREATE TABLE high PARTITION OF one FOR VALUES FROM (10) TO (20)"

pytestmark = pytest.mark.parametrize("moving", ["postgres-mariadb"], indirect=True)


@pytest.fixture(autouse=True)
def watchful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Movers look at their tables several times a second."""
    monkeypatch.setattr(table_mover, "_LAG_SECONDS", 0.2)


def status_of(moving: Moving) -> dict[str, Any]:
    status = api.move_status(moving.request.task, moving.meta)
    assert status is not None
    return move_status_document(status)


def stopped(moving: Moving) -> dict[str, str | None]:
    return {table["source"].split(".")[1]: table["stopped"] for table in status_of(moving)["tables"]}


def changed(asked: Moving, changes: dict[str, list[str]]) -> dict[str, str]:
    """Why each table stopped, by what was done to it while it was followed: and the other table goes on."""
    with followed(asked):
        # A mover that is only about to follow ends if a table is gone for a moment.
        until(lambda: status_of(asked)["lag_bytes"] is not None)
        ((publication,),) = asked.source.rows("SELECT pubname FROM pg_publication")
        for statements in changes.values():
            for statement in statements:
                asked.source.execute(statement.format(publication))
        until(lambda: all(stopped(asked)[table] for table in changes))
        asked.source.execute("UPDATE two SET a = 7 WHERE id = 1")
        until(lambda: arrived(asked, "two"))
    found = stopped(asked)
    assert found.pop("two") is None
    return {table: reason or "" for table, reason in found.items()}


OTHERS = {
    "renamed": (["ALTER TABLE renamed RENAME TO old"], "it was dropped, renamed or recreated"),
    "recreated": (["DROP TABLE recreated", like_one("recreated")], "it was dropped, renamed or recreated"),
    "wider": (["ALTER TABLE wider ALTER COLUMN a TYPE BIGINT USING a + 100"], "was integer, and is bigint now"),
    "away": (
        ["ALTER PUBLICATION {} DROP TABLE away", "ALTER PUBLICATION {} ADD TABLE away"],
        "publication was altered",
    ),
    "one": (["ALTER TABLE one DETACH PARTITION low"], "its partition low was detached"),
    "anew": (["ALTER TABLE anew DROP COLUMN a, ADD COLUMN a INT DEFAULT 3"], "another one of that name, now"),
    "swapped": (
        [
            "BEGIN; ALTER TABLE swapped RENAME a TO c; ALTER TABLE swapped RENAME b TO a; "
            "ALTER TABLE swapped RENAME c TO b; COMMIT"
        ],
        "is a, which was renamed, now",
    ),
}
"""Statements, by the table that they stop, and why."""


def test_tables_that_became_others_are_stopped_and_no_other(moving: Moving) -> None:
    made = {name: [like_one(name)] for name in OTHERS}
    made["swapped"] = ["CREATE TABLE swapped (id INT PRIMARY KEY, a INT, b INT DEFAULT 1)"]
    asked = begin_with(moving, {**made, "one": [PARTITIONED, LOW, HIGH]})
    found = changed(asked, {name: statements for name, (statements, _) in OTHERS.items()})
    for name, (_, reason) in OTHERS.items():
        assert reason in found[name], name


def test_columns_that_are_others_by_now(moving: Moving) -> None:
    """A task knows columns by their names: whether they are the same, only the catalog says."""
    source = moving.source
    for name in ("chosen", "hidden", "unread", "dropped"):
        source.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY, a INT, b INT)")
        source.execute(f"INSERT INTO {name} SELECT n, n, 5 FROM generate_series(1, 9) n")
    others = [TableRequest(name, exclude_columns=("b",)) for name in ("hidden", "unread", "dropped")]
    asked = asking(moving, TableRequest("chosen", columns=("id", "a")), *others)
    asked.run()
    source.execute("ALTER TABLE unread DROP COLUMN b, ADD COLUMN b INT")
    source.execute("ALTER TABLE dropped DROP COLUMN b")
    asked.run()
    with followed(asked):
        until(lambda: status_of(asked)["lag_bytes"] is not None)
        for statement in (
            "BEGIN; ALTER TABLE chosen RENAME a TO old; ALTER TABLE chosen RENAME b TO a; COMMIT",
            "ALTER TABLE hidden RENAME b TO c",
            "ALTER TABLE unread ADD COLUMN c INT DEFAULT 5",
            *(f"UPDATE {name} SET a = 10 WHERE id = 1" for name in ("chosen", "hidden", "unread")),
        ):
            source.execute(statement)
        until(lambda: stopped(asked)["chosen"] and stopped(asked)["hidden"])
        until(lambda: asked.target.rows("SELECT a FROM unread WHERE id = 1") == [(10,)])
    found = stopped(asked)
    assert "its column a was dropped or renamed, and is b, which was renamed, now" in (found["chosen"] or "")
    assert "its column c is not new: it is b, which was renamed" in (found["hidden"] or "")
    assert found["unread"] is None
    copied, moved = asked.rows("unread", "id, a, c")
    assert copied == moved
    source.execute("ALTER TABLE unread DROP COLUMN c, ADD COLUMN c INT DEFAULT 6")
    source.execute("UPDATE dropped SET a = 10 WHERE id = 1")
    asked.run()
    assert "its column c was dropped or renamed, and is another one" in (stopped(asked)["unread"] or "")
    assert stopped(asked)["dropped"] is None
    copied, moved = asked.rows("dropped")
    assert copied == moved


@pytest.mark.thorough
def test_a_table_of_which_some_rows_are_not_published_any_more(moving: Moving) -> None:
    asked = begin(moving)
    found = changed(asked, {"one": ["ALTER PUBLICATION {} SET TABLE two, one WHERE (id > 100)"]})
    assert "publication was altered" in found["one"]


def test_a_type_that_changed_while_no_mover_ran(moving: Moving) -> None:
    asked = begin(moving, ONE)
    moving.source.execute("ALTER TABLE one ALTER COLUMN a TYPE BIGINT USING a + 100")
    asked.run()
    assert "was integer, and is bigint now" in (stopped(asked)["one"] or "")


def test_partitions_that_come_or_are_truncated_are_told(moving: Moving) -> None:
    asked = begin(moving, PARTITIONED, LOW, HIGH)
    moving.source.execute("CREATE TABLE more PARTITION OF one FOR VALUES FROM (20) TO (30)")
    moving.source.execute("INSERT INTO one VALUES (25, 1)")
    status = asked.run()
    assert [table["stopped"] for table in status["tables"]] == [None, None]
    assert any("it got a partition more" in remark for remark in status["remarks"])
    assert arrived(moving, "one")
    moving.source.execute("TRUNCATE low")
    assert any("its partition low was truncated" in remark for remark in asked.run()["remarks"])


def test_what_leaves_a_table_as_it_is(moving: Moving) -> None:
    asked = begin(moving, ONE)
    for statement in (
        "ALTER TABLE one ALTER COLUMN a SET DEFAULT 5",
        "CREATE INDEX ON one (a)",
        "VACUUM FULL one",
        "UPDATE one SET a = 4 WHERE id = 4",
    ):
        moving.source.execute(statement)
    status = asked.run()
    assert [table["stopped"] for table in status["tables"]] == [None, None]
    assert not status["remarks"]
    assert arrived(moving, "one")
