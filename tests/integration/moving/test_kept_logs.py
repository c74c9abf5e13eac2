"""How much log a source keeps for a task, what limits it, and what stays there when its mover stops."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.moving.ahead import Ahead, between, notes
from tests.integration.moving.pairs import Moving
from tieout import api
from tieout.cli.main import main
from tieout.config.urls import parse_url
from tieout.connectors.registry import open_endpoint, open_source
from tieout.meta import JobKind, JobState, open_store
from tieout.model.documents import preflight_document
from tieout.model.preflight import Preflight
from tieout.model.requests import MoveRequest, VerifyRequest

if TYPE_CHECKING:
    from tests.servers.server import Database
    from tests.servers.sqlite import SqliteDatabase


@contextmanager
def setting(database: Database, value: str) -> Iterator[None]:
    database.execute(f"ALTER SYSTEM SET max_slot_wal_keep_size = '{value}'")
    database.execute("SELECT pg_reload_conf()")
    try:
        _until(lambda: database.rows("SHOW max_slot_wal_keep_size") == [(value,)])
        yield
    finally:
        database.execute("ALTER SYSTEM RESET max_slot_wal_keep_size")
        database.execute("SELECT pg_reload_conf()")
        _until(lambda: database.rows("SHOW max_slot_wal_keep_size") == [("-1",)])


def _until(true: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not true():
        assert time.monotonic() < until
        time.sleep(0.05)


# ----------------------------------------------------------------------------------------------------------- preflight


@between("postgres-mariadb")
def test_a_slot_that_nothing_limits(ahead: Ahead) -> None:
    ahead.source.execute("CREATE TABLE t (id int PRIMARY KEY)")
    found = ahead.look("t")
    assert "nothing limits the log that the server keeps for a task (max_slot_wal_keep_size = -1)" in notes(found)
    assert found.exit_code == 0
    with setting(ahead.source, "10GB"):
        found = ahead.look("t")
        assert "log" not in notes(found)
        assert _move(found).get("log_limit") == "the server keeps at most 10,240 MB (max_slot_wal_keep_size)"
    assert _move(found).get("log_kept_bytes") is None, "there is no slot yet"
    source = open_source(parse_url(ahead.source.url))
    source.begin_log("ahead", [table.name for table in _described(ahead)])
    try:
        ahead.source.execute("INSERT INTO t SELECT generate_series(1, 20000)")
        assert _move(ahead.look("t"))["log_kept_bytes"] > 100_000
    finally:
        source.drop_task("ahead")


@pytest.mark.parametrize(
    ("seconds", "limit", "noted"),
    [
        (0, "until it is purged (binlog_expire_logs_seconds = 0)", False),
        (7200, "for 2 hours (binlog_expire_logs_seconds)", True),
        (864000, "for 10 days (binlog_expire_logs_seconds)", False),
    ],
)
@between("mariadb-postgres")
def test_a_binary_log_that_may_be_gone(ahead: Ahead, seconds: int, limit: str, noted: bool) -> None:
    ahead.source.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    ((before,),) = ahead.source.rows("SELECT @@GLOBAL.binlog_expire_logs_seconds")
    ahead.source.execute(f"SET GLOBAL binlog_expire_logs_seconds = {seconds}")
    try:
        found = ahead.look("t")
    finally:
        ahead.source.execute(f"SET GLOBAL binlog_expire_logs_seconds = {before}")
    assert _move(found).get("log_limit") == f"the server keeps its log {limit}"
    assert ("the log is kept for 2 hours" in notes(found)) is noted


def _move(found: Preflight) -> dict[str, Any]:
    move: dict[str, Any] = preflight_document(found)["move"]
    return move


def _described(ahead: Ahead) -> Any:
    endpoint = open_endpoint(parse_url(ahead.source.url))
    try:
        return endpoint.describe(endpoint.tables())
    finally:
        endpoint.close()


# ------------------------------------------------------------------------------------------------------ status and stop


@pytest.mark.parametrize("moving", ["postgres-mariadb"], indirect=True)
def test_what_stays_behind(moving: Moving, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A mover that has stopped reads no log, and the server keeps on keeping it."""
    monkeypatch.chdir(moving.directory)
    monkeypatch.setenv("NO_COLOR", "1")
    task = moving.request.task
    ends = f"source: '{moving.source.url}', target: '{moving.target.url}'"
    Path("tieout.yaml").write_text(f"meta: '{moving.meta}'\ntasks: {{'{task}': {{{ends}, tables: [t], move: {{}}}}}}\n")
    moving.source.execute("CREATE TABLE t (id int PRIMARY KEY)")
    moving.asking("t").run()
    moving.source.execute("INSERT INTO t SELECT generate_series(1, 20000)")
    assert main(["status", task, "-o", "json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert status["state"] == "caught up"
    assert (status["log_kept_bytes"] or 0) > 100_000
    assert re.fullmatch("replication slot (tieout_[0-9a-f]+) and publication \\1", status["left_behind"])
    assert "nothing limits the log" in status["log_warning"]
    assert main(["status", task]) == 0
    assert "nothing limits the log" in capsys.readouterr().out

    with open_store(moving.meta) as store:
        job = store.jobs.create(JobKind.MOVE, source="a", target="b", request={}, task=task)
        assert main(["stop", task]) == 0
        told = capsys.readouterr().out
        store.jobs.stop(job.id, JobState.STOPPED)
    assert "stay at the source" in told
    assert "nothing limits it (max_slot_wal_keep_size = -1)" in told
    assert f"tieout task drop {task} removes them" in told

    assert main(["task", "drop", task]) == 0
    assert moving.source.rows("SELECT 1 FROM pg_replication_slots WHERE database = current_database()") == []
    assert main(["stop", task]) == 2
    assert f"tieout task drop {task}" in capsys.readouterr().err


@pytest.mark.parametrize("moving", ["mariadb-postgres"], indirect=True)
def test_a_source_that_can_not_be_asked(moving: Moving) -> None:
    moving.source.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    moving.asking("t").run()
    away = re.sub(r":\d+/", ":1/", moving.source.url)
    status = api.move_status(moving.request.task, moving.meta, source=away)
    assert status is not None
    assert status.remarks[-1].startswith("what the source keeps for the task is not known: ")


def test_an_sqlite_file_keeps_changes_without_limit(sqlite_db: Callable[[str], SqliteDatabase], tmp_path: Path) -> None:
    source, target = sqlite_db("source"), sqlite_db("target")
    source.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    target.execute("VACUUM")
    move = MoveRequest("kept", source.url, target.url)
    found = api.preflight(VerifyRequest(source.url, target.url), f"sqlite:///{tmp_path}/meta.db", move=move)
    assert "nothing limits that" in notes(found)
    opened = open_source(parse_url(source.url))
    assert (opened.retention("kept").left, opened.retention("kept").kept) == (None, None)
