"""A mover of a feed of events that is killed while the feed grows: in the end the target is as the last events say."""

from __future__ import annotations

import os
import random
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from tests.background import in_background
from tests.faults.moving.mover import Mover
from tests.integration.moving.pairs import remarks_of
from tests.servers.debezium import INT, TEXT, Feed, Topic
from tieout import api
from tieout.model.requests import MoveRequest
from tieout.spark import executor_work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.server import Database

CASES = [
    ("before-commit", 2),
    pytest.param(("after-stage", 2), marks=pytest.mark.thorough),
    pytest.param(("answer-lost", 6), marks=pytest.mark.thorough),
    pytest.param(("after-merge", 2), marks=pytest.mark.thorough),
]
"""Where the mover is killed, and at which time that it is there."""

EVENTS = Topic("events", {"id": INT, "name": TEXT})


class Writer:
    """Writes rows to a feed, some of them twice, and knows what is there."""

    def __init__(self, feed: Feed) -> None:
        self.feed, self.rows, self.chosen = feed, dict[int, str](), random.Random(3)

    def write(self, number: int, count: int) -> None:
        lines: list[str] = []
        for turn in range(count):
            key, name = self.chosen.randrange(200), f"{number}.{turn}"
            if key in self.rows and self.chosen.random() < 0.3:
                del self.rows[key]
                lines += EVENTS.deleted({"id": key})
            else:
                known, self.rows[key] = key in self.rows, name
                row = {"id": key, "name": name}
                lines += EVENTS.updated(row) if known else EVENTS.created(row)
        again = lines[-20:] if self.chosen.random() < 0.3 else []
        self.feed.append(f"events-{number // 10}.jsonl", [*lines, *again])

    def go_on(self, done: Event) -> None:
        number = 1
        while not done.wait(0.05):
            self.write(number, 30)
            number += 1


@pytest.fixture
def mover(pg_db_b: Database, spark: SparkSession, tmp_path: Path) -> Iterator[Callable[..., Mover]]:
    task, meta = f"killed-{uuid.uuid4().hex[:8]}", f"sqlite:///{tmp_path}/meta.db"
    url = Feed(tmp_path / "feed").url

    def make(**options: Any) -> Mover:
        asked = {
            "task": task,
            "source": url,
            "target": pg_db_b.url,
            "meta": meta,
            "tables": ["events"],
            "delivery": "exactly-once",
            "consistency": "row",
            "options": {"poll_seconds": 0.05, **options},
        }
        return Mover(spark, tmp_path, asked)

    yield make
    executor_work._REGISTERED.clear()
    Path(os.environ["TIEOUT_FAILPOINT"]).unlink(missing_ok=True)
    api.drop_move(MoveRequest(task, url, pg_db_b.url), meta)


def test_killed_while_it_follows(
    case: tuple[str, int], mover: Callable[..., Mover], pg_db_b: Database, tmp_path: Path
) -> None:
    writer = Writer(Feed(tmp_path / "feed"))
    writer.write(0, 300)
    task = mover(batch_bytes=100_000)
    with in_background(writer.go_on):
        killed = task.run(case, until_caught_up=False)
        assert killed.killed, killed.words
        again = task.run()
        assert again.code == 0, again.words
    last = task.run()
    assert last.code == 0, last.words
    assert last.status is not None
    assert remarks_of(last.status) == []
    assert dict(pg_db_b.rows("SELECT id, name FROM events")) == writer.rows
