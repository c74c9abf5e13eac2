"""One mover for a task: it is heard of while it lives, and stands in the way of another one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from tests.servers.sqlite import SqliteDatabase
from tieout.config.urls import parse_url
from tieout.connectors.moving import Target
from tieout.connectors.registry import open_target
from tieout.errors import UsageError
from tieout.move import pulse as pulsing
from tieout.move.ownership import SILENT_SECONDS, taken

ELSEWHERE = "process 1 on another-machine"


@pytest.fixture
def database(sqlite_db: Callable[[str], SqliteDatabase]) -> SqliteDatabase:
    database = sqlite_db("target")
    database.execute("CREATE TABLE t (id INT)")
    return database


@pytest.fixture
def target(database: SqliteDatabase) -> Iterator[Target]:
    with closing(open_target(parse_url(database.url))) as target:
        target.prepare()
        yield target


def test_a_mover_is_heard_of_again_and_again(
    database: SqliteDatabase, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulsing, "EVERY_SECONDS", 0.01)
    fence = target.progress.take("shop", ELSEWHERE)
    with pulsing.pulse(parse_url(database.url), fence):
        for _ in range(2):
            database.execute("UPDATE tieout_progress SET heard = 0")
            until(lambda: database.rows("SELECT heard FROM tieout_progress") != [(0,)])


def test_one_that_is_heard_of_stands_in_the_way(database: SqliteDatabase, target: Target) -> None:
    first = target.progress.take("shop", ELSEWHERE)
    with pytest.raises(UsageError, match="another mover runs the task shop: process 1 on another-machine"):
        taken(target, "shop")
    database.execute("UPDATE tieout_progress SET heard = heard - ?", SILENT_SECONDS + 1)
    assert taken(target, "shop").epoch == first.epoch + 1


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "it was not heard of"
        time.sleep(0.01)
