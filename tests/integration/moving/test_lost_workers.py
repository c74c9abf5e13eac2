"""Python workers that the system kills, as it does when memory is short."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.moving.pairs import Moving
from tests.integration.moving.troubles import followed, until
from tieout import api
from tieout.errors import SparkFailure
from tieout.move import follow
from tieout.move.follow import Follower, _staged
from tieout.spark.executor_work import SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


def test_a_batch_whose_worker_is_killed(spark: SparkSession) -> None:
    """It comes out as an error that a mover knows, in one line."""

    def die(batches: Iterator[Any]) -> Iterator[Any]:
        os.kill(os.getpid(), signal.SIGKILL)
        yield from batches

    frame = spark.range(1).mapInArrow(die, SCHEMA)
    with pytest.raises(SparkFailure, match="a Spark job failed: ") as error:
        _staged(frame)
    assert "\n" not in error.value.message


@pytest.mark.thorough
def test_a_stream_whose_reader_is_killed(mariadb_to_postgres: Moving) -> None:
    """The mover ends with one line that has nothing of Spark's plans in it, and goes on when it is started again."""
    moving = mariadb_to_postgres.asking("t", poll_seconds=0.02)
    for database in (moving.source, moving.target):
        database.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, v BIGINT)")
    moving.source.execute("INSERT INTO t VALUES (1, 1)")
    with pytest.raises(SparkFailure, match=r"^a Spark job failed: ") as error:
        _lose_stream(moving)
    assert "\n" not in error.value.message
    moving.source.execute("UPDATE t SET v = 2")
    moving.run()
    assert moving.rows("t")[1] == [(1, 2)]


def _lose_stream(moving: Moving) -> None:
    with followed(moving):
        until(_stream_readers)
        for pid in _stream_readers():
            os.kill(pid, signal.SIGKILL)
        until(lambda: getattr(api.move_status(moving.request.task, moving.meta), "state", None) == "failed")


def _stream_readers() -> list[int]:
    """The processes that this one's Spark reads streams in."""
    jvm = subprocess.run(["pgrep", "-P", str(os.getpid()), "java"], capture_output=True, text=True, check=False).stdout
    name = "python_streaming_source_runner"
    command = ["pgrep", "-f", "-P", ",".join(jvm.split()), name]
    return [int(pid) for pid in subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()]


@pytest.mark.parametrize("moving", ["postgres-mariadb"], indirect=True)
def test_a_stream_that_does_not_start_is_started_again(moving: Moving, monkeypatch: pytest.MonkeyPatch) -> None:
    moving.source.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    asked = moving.asking("t", poll_seconds=0.02)
    asked.run()
    stopped: list[bool] = []
    is_starting, stop = Follower._is_starting, Follower._stop

    def keep(follower: Follower, query: StreamingQuery, *, is_stuck: bool) -> None:
        stopped.append(is_stuck)
        stop(follower, query, is_stuck=is_stuck)

    monkeypatch.setattr(Follower, "_is_starting", lambda *given: not stopped or is_starting(*given))
    monkeypatch.setattr(Follower, "_stop", keep)
    monkeypatch.setattr(follow, "_START_SECONDS", 0.5)
    with followed(asked):
        until(lambda: stopped)
        monkeypatch.setattr(follow, "_START_SECONDS", 120.0)
        asked.source.execute("INSERT INTO t VALUES (1)")
        until(lambda: asked.rows("t")[1] == [(1,)])
    assert stopped[0]
    assert not stopped[-1]
