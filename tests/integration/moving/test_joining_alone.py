"""Tables that can't join their task: they stop alone, and leave nothing behind."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.integration.moving.pairs import ONE_OF_ALL, Moving
from tests.integration.moving.test_joining import (
    ACROSS,
    at_places,
    counted,
    following,
    interrupting,
    looks_often,
    status,
    until,
)
from tests.integration.moving.test_work_on_the_way import asking
from tests.variants import later
from tieout import api
from tieout.errors import UsageError
from tieout.model.levels import Levels
from tieout.model.moves import Consistency, Delivery
from tieout.model.requests import TableRequest
from tieout.move.table_mover import TableMover

__all__ = ["looks_often"]
FROM_POSTGRES = pytest.mark.parametrize("moving", ["postgres-mariadb", later("postgres-postgres")], indirect=True)


def everything(moving: Moving, *tables: str) -> Moving:
    """A task of all tables; these are there, and have rows."""
    for table in tables:
        create(moving, table)
    return asking(moving, TableRequest("*"), poll_seconds=0.05)


def create(moving: Moving, table: str) -> None:
    moving.source.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, v INT)")
    moving.source.execute(f"INSERT INTO {table} VALUES (1, 1), (2, 2), (3, 3)")


def stopped(asked: Moving) -> dict[str, str | None]:
    found = status(asked)
    assert found is not None
    return {table.source.split(".")[1]: table.stopped for table in found.tables}


def names_of_slots(moving: Moving) -> set[str]:
    found = moving.source.rows("SELECT slot_name FROM pg_replication_slots WHERE database = current_database()")
    return {str(name) for (name,) in found}


def slots(moving: Moving) -> int:
    return len(names_of_slots(moving))


@ONE_OF_ALL
def test_a_shard_joins_a_table_that_has_others(moving: Moving) -> None:
    merged = TableRequest("orders_*", "orders", expressions={"shard": ("_table", "")})

    def create_shard(number: int) -> None:
        moving.source.execute(f"CREATE TABLE orders_{number} (id INT PRIMARY KEY, n INT NOT NULL)")
        moving.source.execute(f"INSERT INTO orders_{number} VALUES (1, {number}), (2, {number})")

    def is_equal() -> bool:
        expected = [
            (f"orders_{number}", *row)
            for number in numbers
            for row in moving.source.rows(f"SELECT id, n FROM orders_{number}")
        ]
        return sorted(expected) == sorted(moving.target.rows("SELECT shard, id, n FROM orders"))

    numbers = [1, 2]
    for number in numbers:
        create_shard(number)
    asked = asking(moving, merged, poll_seconds=0.05)
    asked.run()
    moving.source.execute("UPDATE orders_1 SET n = 10 WHERE id = 1")
    asked.run()
    create_shard(3)
    moving.source.execute("UPDATE orders_3 SET n = 30 WHERE id = 1")
    with following(asked):
        numbers.append(3)
        until(is_equal, lambda: (status(asked), moving.target.rows("SELECT * FROM orders")))
        create_shard(4)
        numbers.append(4)
        for number in numbers:
            moving.source.execute(f"UPDATE orders_{number} SET n = n + 100")
        until(is_equal, lambda: (status(asked), moving.target.rows("SELECT * FROM orders")))
        moving.source.execute("DELETE FROM orders_1 WHERE id = 2")
        until(is_equal, lambda: (status(asked), moving.target.rows("SELECT * FROM orders")))
    told = asked.run()
    assert told["state"] == "caught up"
    assert is_equal()


@pytest.mark.parametrize("moving", ["postgres-mariadb", later("mariadb-mariadb")], indirect=True)
def test_a_table_that_can_not_keep_the_task_s_levels(moving: Moving) -> None:
    """A running mover judges it by its own levels, not by those that it would choose anew."""
    asked = everything(moving, "first")
    asked = replace(asked, request=replace(asked.request, delivery=None, consistency=None))
    asked.run()
    with following(asked):
        moving.target.execute("CREATE TABLE late (id INT PRIMARY KEY, v INT) ENGINE = Aria")
        create(moving, "late")
        until(lambda: stopped(asked).get("late"), lambda: status(asked))
        assert "the target does not support exactly-once" in (stopped(asked)["late"] or "")
        moving.source.execute("INSERT INTO first VALUES (4, 4)")
        until(lambda: counted(asked, "first", "COUNT(*)") == 4, lambda: status(asked))
    assert counted(asked, "late", "COUNT(*)") == 0


@pytest.mark.parametrize("moving", ["postgres-mariadb", later("mariadb-mariadb")], indirect=True)
def test_a_table_joins_with_levels_that_its_target_can_keep(moving: Moving, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = everything(moving, "first")
    levels = Delivery.AT_LEAST_ONCE, Consistency.ROW
    asked = replace(asked, request=replace(asked.request, delivery=levels[0], consistency=levels[1]))
    asked.run()
    moving.target.execute("CREATE TABLE late (id INT PRIMARY KEY, v INT) ENGINE = Aria")
    create(moving, "late")
    seen: list[Levels] = []
    plan = TableMover.plan

    def planned(mover: TableMover, *arguments: object) -> None:
        seen.append(mover.levels)
        plan(mover, *arguments)  # type: ignore[arg-type]

    def changed(place: str) -> None:
        if place == "joining-copied":
            moving.source.execute("UPDATE late SET v = v + 100")

    monkeypatch.setattr(TableMover, "plan", planned)
    at_places(monkeypatch, changed)
    assert asked.run()["state"] == "caught up"
    assert {(each.delivery, each.consistency) for each in seen} == {levels}
    assert moving.rows("late")[0] == moving.rows("late")[1]


@pytest.mark.parametrize("away", ["dropped", later("left out")])
@FROM_POSTGRES
def test_a_table_that_is_away_after_it_began_to_join(
    moving: Moving, away: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody would read its log any more, and the server would keep it for ever."""
    asked = everything(moving, "first")
    asked.run()
    create(moving, "late")
    with monkeypatch.context() as patched:
        at_places(patched, interrupting("joining-copied"))
        with pytest.raises(KeyboardInterrupt):
            asked.run()
    assert slots(moving) == 2
    if away == "dropped":
        moving.source.execute("DROP TABLE late")
        now = asked
    else:
        now = asking(moving, TableRequest("*", exclude=("late",)))
    told = now.run()
    assert slots(moving) == 1
    assert told["state"] == "stopped in part"
    assert "the task no longer has it" in (stopped(asked)["late"] or "")
    if away == "dropped":
        create(moving, "late")
    moving.source.execute("INSERT INTO late VALUES (4, 4)")
    assert asked.run()["state"] == "stopped in part"
    api.restart_table(asked.request, "late", asked.meta)
    assert asked.run()["state"] == "caught up"
    assert moving.rows("late")[0] == moving.rows("late")[1]
    assert slots(moving) == 1


@FROM_POSTGRES
def test_no_slot_is_left_for_a_table_that_joins(moving: Moving) -> None:
    asked = everything(moving, "first")
    asked.run()
    create(moving, "late")
    taken = fill_slots(moving)
    try:
        told = asked.run()
        assert told["state"] == "stopped in part"
        assert "replication slots are in use" in (stopped(asked)["late"] or "")
        moving.source.execute("INSERT INTO first VALUES (4, 4)")
        asked.run()
        assert counted(asked, "first", "COUNT(*)") == 4
    finally:
        for name in taken:
            moving.source.rows(f"SELECT pg_drop_replication_slot('{name}')")
    api.restart_table(asked.request, "late", asked.meta)
    assert asked.run()["state"] == "caught up"
    assert moving.rows("late")[0] == moving.rows("late")[1]


def fill_slots(moving: Moving) -> list[str]:
    """All that the server has left."""
    ((left,),) = moving.source.rows(
        "SELECT current_setting('max_replication_slots')::int - (SELECT count(*) FROM pg_replication_slots)"
    )
    names = [f"taken_{moving.source.name}_{number}" for number in range(int(left))]
    for name in names:
        moving.source.rows(f"SELECT pg_create_physical_replication_slot('{name}')")
    return names


@FROM_POSTGRES
def test_a_table_that_fits_no_more_after_it_began_to_join(moving: Moving, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = everything(moving, "first")
    asked.run()
    for table in ("good", "bad"):
        create(moving, table)
    with monkeypatch.context() as patched:
        at_places(patched, interrupting("joining-copied"))
        with pytest.raises(KeyboardInterrupt):
            asked.run()
    moving.source.execute("ALTER TABLE bad REPLICA IDENTITY NOTHING")
    for _ in range(2):
        told = asked.run()
        assert told["state"] == "stopped in part"
        found = stopped(asked)
        assert (found["first"], found["good"]) == (None, None)
        assert "no replica identity" in (found["bad"] or "")
    assert moving.rows("good")[0] == moving.rows("good")[1]
    moving.source.execute("ALTER TABLE bad REPLICA IDENTITY DEFAULT")
    moving.source.execute("UPDATE bad SET v = 7")
    api.restart_table(asked.request, "bad", asked.meta)
    assert asked.run()["state"] == "caught up"
    assert moving.rows("bad")[0] == moving.rows("bad")[1]
    assert slots(moving) == 1


@FROM_POSTGRES
def test_a_column_is_widened_while_its_table_joins(moving: Moving, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the mover of the tables that join, in a publication that is its own."""
    asked = everything(moving, "first")
    asked.run()
    create(moving, "late")

    def widen(place: str) -> None:
        if place == "joining-copied":
            moving.source.execute("ALTER TABLE late ALTER COLUMN v TYPE bigint, ADD COLUMN more int")
            moving.source.execute("INSERT INTO late VALUES (4, 5000000000, 1)")

    with monkeypatch.context() as patched:
        at_places(patched, widen)
        asked.run()
    moving.source.execute("INSERT INTO late VALUES (5, 6000000000, 2)")
    asked.run()
    assert stopped(asked) == {"first": None, "late": None}
    assert moving.rows("late")[0] == moving.rows("late")[1]


@FROM_POSTGRES
def test_the_log_of_a_table_that_joins_is_lost(moving: Moving, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others have a log of their own."""
    asked = everything(moving, "first")
    asked.run()
    (before,) = names_of_slots(moving)
    create(moving, "late")
    with monkeypatch.context() as patched:
        at_places(patched, interrupting("joining-copied"))
        with pytest.raises(KeyboardInterrupt):
            asked.run()
    (lost,) = names_of_slots(moving) - {before}
    moving.source.rows(f"SELECT pg_drop_replication_slot('{lost}')")
    assert asked.run()["state"] == "stopped in part"
    assert "does not exist" in (stopped(asked)["late"] or "")
    api.restart_table(asked.request, "late", asked.meta)
    assert asked.run()["state"] == "caught up"
    assert moving.rows("late")[0] == moving.rows("late")[1]


@ACROSS
def test_the_last_other_table_stops_while_one_joins(moving: Moving, monkeypatch: pytest.MonkeyPatch) -> None:
    """What joins lacks nothing of the log that the others have read before."""
    asked = everything(moving, "first")
    asked.run()
    create(moving, "late")

    def stop_first(place: str) -> None:
        if place == "joining-copied":
            moving.source.execute("UPDATE late SET v = 7 WHERE id = 1")
            moving.source.execute("INSERT INTO first VALUES (4, 4)")
            moving.source.execute("ALTER TABLE first DROP COLUMN v")
            moving.source.execute("INSERT INTO first VALUES (5)")
            moving.source.execute("UPDATE late SET v = 8 WHERE id = 2")

    at_places(monkeypatch, stop_first)
    assert asked.run()["state"] == "stopped in part"
    found = stopped(asked)
    assert (bool(found["first"]), found["late"]) == (True, None)
    assert moving.rows("late")[0] == moving.rows("late")[1]
    moving.source.execute("INSERT INTO late VALUES (5, 5)")
    asked.run()
    assert moving.rows("late")[0] == moving.rows("late")[1]


@ACROSS
def test_new_tables_whose_rows_would_be_mixed(moving: Moving) -> None:
    """The mover that runs goes on, and says why no table joins until somebody decides."""
    create(moving, "first")
    create(moving, "old")
    asked = asking(moving, TableRequest("first*"), TableRequest("old", "first_archive"), poll_seconds=0.05)
    asked.run()

    def remarks() -> str:
        found = status(asked)
        return " ".join(found.remarks) if found else ""

    with following(asked):
        create(moving, "first_archive")
        until(lambda: "no table can join the task" in remarks(), lambda: status(asked))
        assert "would both go to" in remarks()
        moving.source.execute("INSERT INTO first VALUES (4, 4)")
        until(lambda: counted(asked, "first", "COUNT(*)") == 4, lambda: status(asked))
        moving.source.execute("DROP TABLE first_archive")
        until(lambda: "no table can join the task" not in remarks(), lambda: status(asked))
        create(moving, "first_archive")
        until(lambda: "no table can join the task" in remarks(), lambda: status(asked))
    with pytest.raises(UsageError, match="would both go to"):
        asked.run()


@ONE_OF_ALL
def test_a_table_that_is_gone_before_it_joins_keeps_no_other_from_joining(
    moving: Moving, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = everything(moving, "first")
    asked.run()
    create(moving, "gone")
    create(moving, "late")

    def reach(place: str) -> None:
        if place == "tables-added":
            moving.source.execute("DROP TABLE IF EXISTS gone")

    with monkeypatch.context() as patched:
        at_places(patched, reach)
        asked.run()
    assert counted(asked, "late", "COUNT(*)") == 3
    assert stopped(asked).get("late") is None
    moving.source.execute("INSERT INTO late VALUES (4, 4)")
    asked.run()
    assert counted(asked, "late", "COUNT(*)") == 4
