"""Tables that are copied again, and whose target may hold rows that nobody would copy again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.integration.moving.pairs import ONE_WAY, Moving
from tests.integration.moving.test_joining import ACROSS, at_places, following, interrupting, looks_often, until
from tests.integration.moving.test_joining import status as status_of
from tests.integration.moving.test_work_on_the_way import asking
from tieout import api
from tieout.connectors.sql.restart_progress import RestartTable
from tieout.errors import UsageError
from tieout.model.requests import TableRequest

if TYPE_CHECKING:
    from tieout.model.moves import Fence
    from tieout.model.tables import TableName

__all__ = ["looks_often"]
MERGED = TableRequest("orders_*", "orders", expressions={"shard": ("_table", "")})


def shards(moving: Moving, *numbers: int) -> None:
    for number in numbers:
        moving.source.execute(f"CREATE TABLE orders_{number} (id INT PRIMARY KEY, n INT NOT NULL)")
        moving.source.execute(f"INSERT INTO orders_{number} VALUES (1, {number}), (2, {number})")


def merged(moving: Moving) -> list[tuple[str, int, int]]:
    return sorted((str(shard), int(key), int(n)) for shard, key, n in moving.target.rows("SELECT * FROM orders"))


def columns_first(moving: Moving) -> None:
    moving.target.execute("CREATE TABLE orders (shard VARCHAR(20), id INT, n INT NOT NULL, PRIMARY KEY (id, shard))")


@pytest.mark.parametrize("away", ["dropped", "left out", "of another task"])
@ACROSS
def test_rows_of_others_outlive_a_restart(moving: Moving, away: str) -> None:
    """They were copied from a table that no route of today leads from."""
    columns_first(moving)
    shards(moving, 1, 2)
    asked = asking(moving, MERGED)
    other = replace(moving, request=replace(moving.request, task=f"{moving.request.task}-other"))
    if away == "of another task":
        asking(other, replace(MERGED, source="orders_2")).run()
        asked = asking(moving, replace(MERGED, source="orders_1"))
    asked.run()
    if away == "dropped":
        moving.source.execute("DROP TABLE orders_2")
    if away == "left out":
        asked = asking(moving, replace(MERGED, exclude=("orders_2",)))
    asked.run()
    all_rows = merged(moving)
    assert len(all_rows) == 4
    try:
        with pytest.raises(UsageError, match=r"can't be copied again alone.*holds rows of .*orders_2"):
            api.restart_table(asked.request, "orders_1", asked.meta)
        asked.run()
        assert merged(moving) == all_rows
    finally:
        other.drop()


@ACROSS
def test_rows_of_somebody_else_outlive_a_restart(moving: Moving) -> None:
    """No task knows of them, but the key says that there may be some."""
    columns_first(moving)
    moving.target.execute("INSERT INTO orders VALUES ('elsewhere', 1, 7)")
    shards(moving, 1)
    asked = asking(moving, MERGED)
    asked.run()
    with pytest.raises(UsageError, match="may hold rows of others, which its key tells apart"):
        api.restart_table(asked.request, "orders_1", asked.meta)
    assert ("elsewhere", 1, 7) in merged(moving)


@ACROSS
def test_a_table_that_was_never_written_is_not_emptied(moving: Moving) -> None:
    """It was stopped because the target's table has rows of somebody else: a restart looks again, and no more."""
    moving.source.execute("CREATE TABLE first (id INT PRIMARY KEY)")
    asked = asking(moving, TableRequest("*"))
    asked.run()
    moving.target.execute("CREATE TABLE late (id INT PRIMARY KEY)")
    moving.target.execute("INSERT INTO late VALUES (7)")
    moving.source.execute("CREATE TABLE late (id INT PRIMARY KEY)")
    moving.source.execute("INSERT INTO late VALUES (1)")
    assert asked.run()["state"] == "stopped in part"
    api.restart_table(asked.request, "late", asked.meta)
    told = asked.run()
    assert moving.target.rows("SELECT id FROM late") == [(7,)]
    stopped = {table["source"].split(".")[1]: table["stopped"] for table in told["tables"]}
    assert "already has rows" in stopped["late"]
    moving.target.execute("DELETE FROM late")
    api.restart_table(asked.request, "late", asked.meta)
    assert asked.run()["state"] == "caught up"
    assert moving.rows("late") == ([(1,)], [(1,)])


@ACROSS
def test_a_second_request_before_the_table_joins(moving: Moving, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes when the table was forgotten, and the mover is killed when its rows are copied again."""
    for table in ("first", "second"):
        moving.source.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY)")
        moving.source.execute(f"INSERT INTO {table} VALUES (1), (2), (3)")
    asked = moving.asking("first", "second")
    asked.run()
    forget = RestartTable.forget_table

    def twice(table: RestartTable, fence: Fence, source: str, target: TableName | None) -> None:
        forget(table, fence, source, target)
        api.restart_table(asked.request, "second", asked.meta)

    with monkeypatch.context() as patched:
        patched.setattr(RestartTable, "forget_table", twice)
        at_places(patched, interrupting("joining-copied"))
        api.restart_table(asked.request, "second", asked.meta)
        with pytest.raises(KeyboardInterrupt):
            asked.run()
    asked.run()
    for table in ("first", "second"):
        assert moving.rows(table) == ([(1,), (2,), (3,)], [(1,), (2,), (3,)])


def versions(moving: Moving) -> dict[str, tuple[str, int]]:
    schema = "_tieout." if moving.target.server.scheme == "postgresql" else ""
    rows = moving.target.rows(
        f"SELECT target_table, state, consistent FROM {schema}tieout_table_versions "
        f"WHERE task = '{moving.request.task}'"
    )
    return {str(name).split(".")[1]: (str(state), int(consistent)) for name, state, consistent in rows}


@ONE_WAY
def test_no_table_is_consistent_while_one_is_copied_again(moving: Moving, monkeypatch: pytest.MonkeyPatch) -> None:
    for table in ("first", "second"):
        moving.source.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY)")
        moving.source.execute(f"INSERT INTO {table} VALUES (1), (2), (3)")
    asked = asking(moving, TableRequest("*"), poll_seconds=0.05)
    asked.run()
    assert versions(moving) == {"first": ("following", 1), "second": ("following", 1)}
    seen: dict[str, dict[str, tuple[str, int]]] = {}

    def look(place: str) -> None:
        seen[place] = versions(moving)

    at_places(monkeypatch, look)
    api.restart_table(asked.request, "second", asked.meta)
    asked.run()
    places = ("restart-emptied", "tables-added", "joining-copied", "before-joining", "after-joining")
    for place in places:
        assert seen[place] == {"first": ("following", 0), "second": ("copying", 0)}, place
    assert versions(moving) == {"first": ("following", 1), "second": ("following", 1)}
    seen.clear()
    moving.source.execute("CREATE TABLE third (id INT PRIMARY KEY)")
    moving.source.execute("INSERT INTO third VALUES (1)")
    with following(asked):
        until(lambda: versions(moving).get("third") == ("following", 1), lambda: (versions(moving), status_of(asked)))
    assert seen["before-joining"]["first"] == ("following", 0)
    assert versions(moving)["first"] == ("following", 1)


@ACROSS
def test_a_restarted_table_that_is_gone_holds_no_other_back(moving: Moving, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its source is dropped before it joins again."""
    for table in ("first", "second"):
        moving.source.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY)")
    asked = asking(moving, TableRequest("*"))
    asked.run()
    api.restart_table(asked.request, "second", asked.meta)
    with monkeypatch.context() as patched:
        at_places(patched, interrupting("tables-added"))
        with pytest.raises(KeyboardInterrupt):
            asked.run()
    moving.source.execute("DROP TABLE second")
    asked.run()
    assert versions(moving) == {"first": ("following", 1)}
