"""Who runs a job or a task is heard of for as long as it runs, and stands in the way of another one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from queue import Queue
from typing import Any

import pytest

from tests.servers.sqlite import SqliteDatabase
from tieout.config.urls import parse_url
from tieout.connectors.protocols.move import Target
from tieout.connectors.registry import open_target
from tieout.errors import MetaStoreError, UsageError
from tieout.runtime import lease
from tieout.runtime.lease import SILENT_SECONDS, heartbeat, take_task, task_lease

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


class Jobs:
    """The second beat finds a store that can't be written."""

    def __init__(self) -> None:
        self.heard: Queue[str] = Queue()
        self._beats = 0

    def heartbeat(self, job_id: str) -> None:
        self._beats += 1
        if self._beats == 2:
            raise MetaStoreError("the disk is full")
        self.heard.put(job_id)


def test_a_running_job_is_heard_of_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "HEARTBEAT_SECONDS", 0.01)
    jobs: Any = Jobs()
    with heartbeat(jobs, "v-1"):
        assert [jobs.heard.get(timeout=10) for _ in range(3)] == ["v-1"] * 3


def test_a_mover_is_heard_of_again_and_again(
    database: SqliteDatabase, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "HEARTBEAT_SECONDS", 0.01)
    with task_lease(target, parse_url(database.url), "shop"):
        for _ in range(2):
            database.execute("UPDATE tieout_progress SET heard = 0")
            until(lambda: database.rows("SELECT heard FROM tieout_progress") != [(0,)])
    assert database.rows("SELECT heard FROM tieout_progress") == [(0,)], "the next one need not wait"


def test_one_that_is_heard_of_stands_in_the_way(database: SqliteDatabase, target: Target) -> None:
    first = target.progress.take("shop", ELSEWHERE)
    with pytest.raises(UsageError, match="another mover runs the task shop: process 1 on another-machine"):
        take_task(target, "shop")
    database.execute("UPDATE tieout_progress SET heard = heard - ?", SILENT_SECONDS + 1)
    assert take_task(target, "shop").epoch == first.epoch + 1


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "it was not heard of"
        time.sleep(0.01)
