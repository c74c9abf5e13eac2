"""Tables that join a task while it follows: new ones that a pattern matches, and those that are copied again."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Event, Thread

import pytest

from tests.background import in_background
from tests.integration.moving.pairs import Moving
from tests.variants import later
from tieout import api, failpoints
from tieout.errors import TieoutError, UsageError
from tieout.meta import Wanted
from tieout.model.move_status import MoveStatus
from tieout.model.requests import TableRequest
from tieout.move import mover

ACROSS = pytest.mark.parametrize("moving", ["postgres-mariadb", later("mariadb-postgres")], indirect=True)
ROWS = 400


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mover, "_LOOK_SECONDS", 0.3)


@contextmanager
def following(asked: Moving) -> Iterator[None]:
    """A mover that follows until the block ends."""
    ended: list[BaseException] = []

    def run() -> None:
        try:
            api.run_move(asked.request, spark=asked.spark, meta=asked.meta)
        except (TieoutError, KeyboardInterrupt) as error:
            ended.append(error)

    thread = Thread(target=run)
    thread.start()
    try:
        until(lambda: (found := status(asked)) is not None and found.state == "following", lambda: ended)
        yield
        assert not ended, ended
    finally:
        if thread.is_alive():
            api.control_move(asked.request.task, Wanted.STOP, asked.meta)
        thread.join()


def status(asked: Moving) -> MoveStatus | None:
    return api.move_status(asked.request.task, asked.meta)


def until(condition: Callable[[], object], seen: Callable[[], object], seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"it never came so far: {seen()}"
        time.sleep(0.05)


def at_places(monkeypatch: pytest.MonkeyPatch, reach: Callable[[str], None]) -> None:
    """Calls a function at each named place of the move, in the mover's own process."""
    for name, module in list(sys.modules.items()):
        if name.startswith("tieout.move.") and getattr(module, "reach", None) is failpoints.reach:
            monkeypatch.setattr(module, "reach", reach)


def interrupting(at: str) -> Callable[[str], None]:
    """Ends the mover at a place, as Ctrl-C does."""

    def reach(place: str) -> None:
        if place == at:
            raise KeyboardInterrupt

    return reach


def counting(asked: Moving) -> Callable[[Event], None]:
    """One row of a table counts up."""

    def work(done: Event) -> None:
        while not done.wait(0.01):
            asked.source.execute("UPDATE first SET n = n + 1")

    return work


def counted(asked: Moving, table: str, what: str) -> int:
    ((found,),) = asked.target.rows(f"SELECT {what} FROM {table}")
    return int(found or 0)


@ACROSS
def test_a_new_table_joins_while_the_others_go_on(moving: Moving) -> None:
    moving.source.execute("CREATE TABLE first (id INT PRIMARY KEY, n INT)")
    moving.source.execute("INSERT INTO first VALUES (1, 0)")
    asked = moving.asking(chunk_rows=20, poll_seconds=0.05)
    asked = replace(asked, request=replace(asked.request, tables=(TableRequest("*"),)))
    asked.run()
    asked.target.execute("CREATE TABLE late (id INT PRIMARY KEY, v VARCHAR(20))")
    seen: list[tuple[int, int]] = []
    with following(asked), in_background(counting(asked)):
        asked.source.execute("CREATE TABLE late (id INT PRIMARY KEY, v VARCHAR(20))")
        asked.source.executemany("INSERT INTO late VALUES (%s, 'copied')", [(n,) for n in range(ROWS)])

        def all_are_there() -> bool:
            seen.append((counted(asked, "late", "COUNT(*)"), counted(asked, "first", "MAX(n)")))
            return seen[-1][0] == ROWS

        until(all_are_there, lambda: (seen[-5:], status(asked)))
        asked.source.execute("UPDATE late SET v = 'changed' WHERE id = 7")
        until(lambda: asked.target.rows("SELECT v FROM late WHERE id = 7") == [("changed",)], lambda: status(asked))
    while_copied = {n for rows, n in seen if 0 < rows < ROWS}
    assert len(while_copied) > 1, f"the other table waited: {seen}"
    asked.run()
    for table in ("first", "late"):
        assert asked.rows(table)[0] == asked.rows(table)[1]


@ACROSS
def test_a_stopped_table_is_copied_again_alone(moving: Moving) -> None:
    for table in ("first", "second"):
        moving.source.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, n INT)")
        moving.source.execute(f"INSERT INTO {table} VALUES (1, 0), (2, 0)")
    asked = moving.asking("first", "second", poll_seconds=0.05)
    asked.run()
    moving.source.execute("ALTER TABLE second DROP COLUMN n")
    moving.source.execute("ALTER TABLE second ADD COLUMN words VARCHAR(20)")
    moving.source.execute("UPDATE second SET words = 'new'")
    assert asked.run()["state"] == "stopped in part"
    with following(asked), in_background(counting(asked)):
        restarted = api.restart_table(asked.request, "second", asked.meta)
        assert restarted.is_running
        until(lambda: not _stopped(asked) and counted(asked, "second", "COUNT(*)") == 2, lambda: status(asked))
        asked.source.execute("INSERT INTO second VALUES (3, 'later')")
        until(lambda: counted(asked, "second", "COUNT(*)") == 3, lambda: status(asked))
    assert asked.run()["state"] == "caught up"
    for table in ("first", "second"):
        assert asked.rows(table)[0] == asked.rows(table)[1]
    assert ("3", "later") in {tuple(map(str, row)) for row in asked.rows("second")[1]}


def _stopped(asked: Moving) -> list[str]:
    found = status(asked)
    return [table.source for table in found.tables if table.stopped] if found else []


@ACROSS
def test_what_can_not_be_copied_again(moving: Moving) -> None:
    moving.source.execute("CREATE TABLE first (id INT PRIMARY KEY)")
    moving.source.execute("CREATE TABLE other (id INT PRIMARY KEY)")
    asked = moving.asking("first", "other")
    with pytest.raises(UsageError, match="has not begun"):
        api.restart_table(asked.request, "first", asked.meta)
    asked.run()
    with pytest.raises(UsageError, match="has no one table nope"):
        api.restart_table(asked.request, "nope", asked.meta)
    api.restart_table(asked.request, "first", asked.meta)
    moving.source.execute("DROP TABLE first")
    moving.source.execute("CREATE TABLE second (id INT PRIMARY KEY)")
    both = replace(asked, request=replace(asked.request, tables=(TableRequest("second"), TableRequest("other"))))
    assert "can't be copied again: the task does not have it" in " ".join(both.run()["remarks"])


@ACROSS
def test_a_begun_table_that_fits_no_more_stops_alone(moving: Moving) -> None:
    """Its key was changed while no mover ran; another one got a foreign key whose work the log may lack."""
    for table in ("first", "second", "third"):
        moving.source.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, n INT NOT NULL)")
        moving.source.execute(f"INSERT INTO {table} VALUES (1, 1), (2, 2)")
    asked = moving.asking("first", "second", "third")
    asked.run()
    is_mariadb = moving.source.server.scheme == "mysql"
    drop = "PRIMARY KEY" if is_mariadb else "CONSTRAINT second_pkey"
    moving.source.execute(f"ALTER TABLE second DROP {drop}, ADD PRIMARY KEY (id, n)")
    moving.source.execute("ALTER TABLE third ADD FOREIGN KEY (n) REFERENCES first (id) ON DELETE CASCADE")
    moving.source.execute("INSERT INTO second VALUES (1, 99)")
    moving.source.execute("DELETE FROM first WHERE id = 2")
    told = asked.run()
    assert told["state"] == "stopped in part"
    stopped = {table["source"].split(".")[1]: table["stopped"] for table in told["tables"]}
    assert stopped["first"] is None
    assert "unique index on the key" in stopped["second"] or "key that identifies" in stopped["second"]
    assert ("binary log does not have" in (stopped["third"] or "")) == is_mariadb
    for table in ("first", *(() if is_mariadb else ("third",))):
        assert moving.rows(table)[0] == moving.rows(table)[1]


def test_a_late_table_that_can_not_be_moved_stops_alone(mariadb_to_postgres: Moving) -> None:
    moving = mariadb_to_postgres
    moving.source.execute("CREATE TABLE first (id INT PRIMARY KEY)")
    asked = replace(moving, request=replace(moving.request, tables=(TableRequest("*"),)))
    asked.run()
    moving.source.execute("CREATE TABLE good (id INT PRIMARY KEY)")
    moving.source.execute(
        "CREATE TABLE bad (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES first (id) ON DELETE CASCADE)"
    )
    for table in ("first", "good", "bad"):
        moving.source.execute(f"INSERT INTO {table} VALUES (1)")
    for _ in range(2):
        told = asked.run()
        stopped = {table["source"].split(".")[1]: table["stopped"] for table in told["tables"]}
        assert "binary log does not have" in stopped["bad"]
        assert (stopped["first"], stopped["good"]) == (None, None)
        for table in ("first", "good"):
            assert moving.rows(table)[0] == moving.rows(table)[1]


@ACROSS
def test_a_late_table_whose_target_has_rows_of_others_stops_alone(moving: Moving) -> None:
    """Whether it was there before the mover started, or comes while it follows."""
    moving.source.execute("CREATE TABLE first (id INT PRIMARY KEY)")
    asked = replace(moving, request=replace(moving.request, tables=(TableRequest("*"),)))
    asked.run()

    def add(table: str) -> None:
        moving.target.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY)")
        moving.target.execute(f"INSERT INTO {table} VALUES (7)")
        moving.source.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY)")
        moving.source.execute(f"INSERT INTO {table} VALUES (1)")

    def stopped(table: str) -> str | None:
        found = status(asked)
        assert found is not None
        return next((each.stopped for each in found.tables if each.source.endswith(f".{table}")), None)

    add("early")
    with following(asked):
        until(lambda: stopped("early") is not None, lambda: status(asked))
        add("meanwhile")
        until(lambda: stopped("meanwhile") is not None, lambda: status(asked))
    assert asked.run()["state"] == "stopped in part"
    for table in ("early", "meanwhile"):
        assert "already has rows, which do not belong to this task" in (stopped(table) or "")
        assert moving.target.rows(f"SELECT id FROM {table}") == [(7,)]


@ACROSS
def test_a_table_that_does_not_fit_stops_alone_while_it_is_copied(moving: Moving) -> None:
    for table in ("first", "second"):
        moving.source.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, v INT)")
        moving.source.execute(f"INSERT INTO {table} VALUES (1, 70000)")
    moving.target.execute("CREATE TABLE second (id INT PRIMARY KEY, v SMALLINT)")
    told = moving.asking("first", "second").run()
    stopped = {table["source"].split(".")[1]: table["stopped"] for table in told["tables"]}
    assert stopped["first"] is None
    assert "out of range" in stopped["second"].lower()
    assert moving.rows("first")[0] == moving.rows("first")[1]
