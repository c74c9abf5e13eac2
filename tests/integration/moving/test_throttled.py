"""Limits that hold a mover back, on servers with real replicas; and those that nobody could measure are refused."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from tests.background import in_background
from tests.integration.moving.ahead import Ahead, between, only, prevents, weak_user
from tests.integration.moving.pairs import Moving
from tests.servers.replica import replica_of
from tests.servers.standby import standby_of
from tests.variants import later
from tieout import api
from tieout.config.urls import parse_url
from tieout.errors import UnsupportedError
from tieout.model.preflight import Severity
from tieout.model.requests import MoveOptions, MoveRequest, TableRequest, VerifyRequest
from tieout.runtime.throttle import Throttle

if TYPE_CHECKING:
    from tests.servers.server import Database
    from tests.servers.sqlite import SqliteDatabase

LAG = MoveOptions(max_replica_lag=0.5)
LOAD = MoveOptions(max_load=1)


def eventually(seen: Callable[[], Any], seconds: float = 30.0) -> Any:
    """What it returns once that is true."""
    until = time.monotonic() + seconds
    while not (found := seen()):
        assert time.monotonic() < until, "it never came"
        time.sleep(0.1)
    return found


@contextmanager
def busy(database: Database, statements: int) -> Iterator[None]:
    """So many statements run in the block."""
    sleep = "SELECT SLEEP(0.2)" if database.server.scheme == "mysql" else "SELECT pg_sleep(0.2)"

    def run(done: Event) -> None:
        with database.connect() as connection, connection.cursor() as cursor:
            while not done.is_set():
                cursor.execute(sleep)

    with ExitStack() as stack:
        for _ in range(statements):
            stack.enter_context(in_background(run))
        yield


# ---------------------------------------------------------------------------------------------------- what is measured


def test_a_standby_that_lags(pg_db: Database) -> None:
    throttle = Throttle(LAG, parse_url(pg_db.url))
    pg_db.execute("CREATE TABLE t (a int)")
    with standby_of(pg_db.server) as standby:
        eventually(lambda: throttle.reason() is None)
        standby.execute(None, "SELECT pg_wal_replay_pause()")

        def behind() -> str | None:
            pg_db.execute("INSERT INTO t SELECT generate_series(1, 100)")
            return throttle.reason()

        assert "s behind, and the limit is 0.5 s" in eventually(behind)
        standby.execute(None, "SELECT pg_wal_replay_resume()")
        # While a mover waits nobody writes; the lag that was measured last must not hold it for that.
        eventually(lambda: throttle.reason() is None, seconds=5)
    assert throttle.reason() == "no replica of the target is connected, and max_replica_lag is set"


def test_a_replica_of_mariadb_is_no_load(mysql_db: Database) -> None:
    with replica_of(mysql_db.server):
        eventually(lambda: mysql_db.rows("SHOW SLAVE HOSTS"))
        throttle = Throttle(LOAD, parse_url(mysql_db.url))
        assert throttle.reason() is None
        with busy(mysql_db, 1):
            assert throttle.reason() is None, "what sends the log to a replica is no statement"
        with busy(mysql_db, 3):
            # Between two of its statements a connection runs none.
            assert "statements, and the limit is 1" in eventually(throttle.reason)


def test_a_busy_postgres(pg_db: Database) -> None:
    throttle = Throttle(LOAD, parse_url(pg_db.url))
    assert throttle.reason() is None
    with busy(pg_db, 3):
        assert "statements, and the limit is 1" in eventually(throttle.reason)


# -------------------------------------------------------------------------------------------------------- what is not


@between("mariadb-postgres")
def test_a_user_who_does_not_see_what_others_do(ahead: Ahead) -> None:
    """PostgreSQL shows such a user NULL, and no error."""
    source, target = ahead.source, ahead.target
    source.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    urls = source.url, ahead.as_weak(target)
    both = replace(LAG, max_load=1)
    grants = (f"GRANT CREATE ON DATABASE {target.name} TO weak", "GRANT CREATE ON SCHEMA public TO weak")
    with weak_user(target, *grants), standby_of(target.server), busy(target, 3):
        found = prevents(ahead.look("t", urls=urls, options=both))
        only(found, "user weak may not see how many statements", "user weak may not see how far behind replicas")
        assert set(found.values()) == {"GRANT pg_read_all_stats TO weak"}
        target.execute("GRANT pg_read_all_stats TO weak")
        eventually(lambda: prevents(ahead.look("t", urls=urls, options=both)) == {})
        eventually(Throttle(LOAD, parse_url(urls[1])).reason)


@between("mariadb-postgres")
def test_a_postgres_without_a_replica(ahead: Ahead) -> None:
    ahead.source.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    found = prevents(ahead.look("t", options=LAG))
    only(found, "no replica streams from the server")
    assert list(found.values()) == ["start the replica, or remove max_replica_lag"]
    ahead.target.execute(f"ALTER DATABASE {ahead.target.name} SET track_activities = off")
    only(prevents(ahead.look("t", options=LOAD)), "track_activities is off")


@between("mariadb-mariadb")
def test_a_mariadb_does_not_know_its_replicas_lag(ahead: Ahead) -> None:
    ahead.source.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    assert prevents(ahead.look("t", options=LOAD)) == {}
    only(prevents(ahead.look("t", options=LAG)), "does not know how far behind its replicas are")
    request = MoveRequest("lag", ahead.source.url, ahead.target.url, (TableRequest("t"),), options=LAG)
    with pytest.raises(UnsupportedError, match="does not know how far behind its replicas are"):
        api.run_move(request, meta=f"sqlite:///{ahead.directory}/meta.db", until_caught_up=True)
    assert ahead.target.rows("SHOW TABLES") == [], "it was refused before anything was touched"


def test_an_sqlite_file_has_neither(sqlite_db: Callable[[str], SqliteDatabase], tmp_path: Path) -> None:
    source, target = sqlite_db("source"), sqlite_db("target")
    source.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    target.execute("VACUUM")
    move = MoveRequest("neither", source.url, target.url, options=replace(LAG, max_load=1))
    found = api.preflight(VerifyRequest(source.url, target.url), f"sqlite:///{tmp_path}/meta.db", move=move)
    told = [problem for problem in found.problems if problem.severity is Severity.PREVENTS]
    assert [problem.message.split(" ")[2:4] for problem in told] == [["no", "server"], ["no", "replicas"]]
    assert all("max_rows_per_second" in (problem.fix or "") for problem in told)


# --------------------------------------------------------------------------------------------------- and a mover waits


def _lags(moving: Moving) -> bool:
    """Whether the server knows that its replica is behind: the replica answers to what is written."""
    moving.target.execute("SELECT pg_logical_emit_message(true, 'tieout', 'x')")
    return Throttle(LAG, parse_url(moving.target.url)).reason() is not None


@pytest.mark.parametrize("limit", ["replica", later("load")])
def test_a_mover_waits_until_the_target_is_free(limit: str, mariadb_to_postgres: Moving) -> None:
    moving = mariadb_to_postgres
    moving.source.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    moving.source.executemany("INSERT INTO t VALUES (%s)", [(n,) for n in range(100)])
    waited: list[str] = []
    with ExitStack() as held:
        if limit == "load":
            load = held.enter_context(ExitStack())
            load.enter_context(busy(moving.target, 3))
            free, moving = load.close, moving.asking("t", max_load=1, chunk_rows=10)
        else:
            standby = held.enter_context(standby_of(moving.target.server))
            eventually(lambda: Throttle(LAG, parse_url(moving.target.url)).reason() is None)
            standby.execute(None, "SELECT pg_wal_replay_pause()")
            free = lambda: standby.execute(None, "SELECT pg_wal_replay_resume()")  # noqa: E731
            moving = moving.asking("t", max_replica_lag=0.5, chunk_rows=10)
            # A mover that is done sooner than that has not seen a replica that lags.
            eventually(lambda: _lags(moving))

        def watch(done: Event) -> None:
            while not done.wait(0.2):
                found = api.move_status(moving.request.task, moving.meta)
                if found is not None and found.state == "throttled" and not waited:
                    waited.append(found.message)
                    free()

        with in_background(watch):
            assert moving.run()["state"] == "caught up"
    assert waited, "it went on as if nothing were"
    assert moving.target.rows("SELECT COUNT(*) FROM t") == [(100,)]
