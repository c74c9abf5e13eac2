"""A mover as a process of its own: paused, interrupted, killed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Tieout
from tests.servers.sqlite import SqliteDatabase
from tieout import api
from tieout.model.documents import move_status_document

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def source(sqlite_db: Callable[[str], SqliteDatabase], tmp_path: Path) -> SqliteDatabase:
    """With a task, `shop`, that moves it."""
    source, target = sqlite_db("source"), sqlite_db("target")
    source.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)")
    source.executemany("INSERT INTO t VALUES (?, ?)", [(n, "old") for n in range(10)])
    target.path.touch()
    (tmp_path / "tieout.yaml").write_text(
        f'endpoints: {{old: {{url: "{source.url}"}}, new: {{url: "{target.url}"}}}}\n'
        "tasks: {shop: {source: old, target: new, move: {}}}\n"
    )
    return source


@contextmanager
def following(start: Start) -> Iterator[subprocess.Popen[str]]:
    """The task's mover, once it follows."""
    process = start("run", "shop", "--master", "local[2]", "--quiet", start_new_session=True)
    try:
        _until(process, lambda: (_status().get("state"), _status().get("lag_bytes")) == ("following", 0))
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.mark.thorough
def test_ctrl_c_ends_a_mover_that_was_paused(start: Start, program: Tieout, source: SqliteDatabase) -> None:
    with following(start) as process:
        assert program("pause", "shop").code == 0
        source.execute("UPDATE t SET v = 'new' WHERE id = 3")
        _until(process, lambda: _status()["state"] == "paused")
        os.killpg(process.pid, signal.SIGINT)
        out, error = process.communicate(timeout=60)
        assert (process.returncode, out) == (130, "")
        first, second = error.splitlines()
        assert first == "stopping; a second signal ends at once"
        assert re.fullmatch(r"job m-\S+ is interrupted: continue with tieout run shop", second)
        assert _status()["state"] == "stopped"


@pytest.mark.thorough
def test_a_mover_that_was_killed_does_not_follow(start: Start, program: Tieout, source: SqliteDatabase) -> None:
    with following(start) as process:
        process.kill()
        process.wait(timeout=60)
    shown = program("status", "shop")
    assert (shown.code, shown.err) == (0, "")
    lines = dict(line.split(maxsplit=1) for line in shown.out.split("\n\n")[0].splitlines())
    assert lines["state"] == "interrupted"
    assert f"its process is gone ({process.pid} on " in lines["message"]
    assert lines["message"].endswith("start it again: tieout run shop")
    assert "lag" not in lines
    assert lines["updated"].split()[:1] == ["at"]
    assert "interrupted" in program("status").out
    found = json.loads(program("status", "shop", "--output", "json").out)
    assert (found["state"], found["lag_seconds"], found["rows_per_second"]) == ("interrupted", None, None)


def test_a_move_that_had_to_stop_a_table_is_no_success(tieout: Tieout, source: SqliteDatabase) -> None:
    source.execute("CREATE TABLE u (id INTEGER PRIMARY KEY, v TEXT); INSERT INTO u VALUES (1, 'old')")
    words = ("run", "shop", "--until-caught-up", "--quiet")
    assert tieout(*words).code == 0
    source.execute("ALTER TABLE t RENAME COLUMN v TO w; UPDATE t SET w = 'new'; UPDATE u SET v = 'new'")
    for _ in ("when it happens", "and when it is run again"):
        ended = tieout(*words)
        assert ended.code == 3, ended.err
        assert "stopped in part" in ended.out
    shown = tieout("status", "shop").out
    assert "1 of 2 tables stopped: main.t no longer has a column v" in shown
    assert "stopped in part" in tieout("task", "list").out
    assert "stopped in part" in tieout("jobs", "list").out
    source.execute("ALTER TABLE u RENAME COLUMN v TO w; UPDATE u SET w = 'newer'")
    assert tieout(*words).code == 2
    refused = tieout(*words)
    assert refused.code == 2
    assert refused.err.startswith("error[unsupported]: every table of the task shop is stopped: ")
    assert refused.err.endswith(
        "dropped or renamed — copy a table again: tieout task restart shop TABLE; or drop the task and start over\n"
    )


def test_nothing_is_left_behind(
    tieout: Tieout, source: SqliteDatabase, sqlite_db: Callable[[str], SqliteDatabase]
) -> None:
    target = sqlite_db("target")
    source.execute("CREATE TABLE child (id INTEGER PRIMARY KEY, t_id INTEGER)")
    source.execute("INSERT INTO child VALUES (1, 3), (2, 99)")
    source.execute("CREATE VIEW names AS SELECT v FROM t")
    target.execute("CREATE TABLE child (id INTEGER PRIMARY KEY, t_id INTEGER CONSTRAINT of_t REFERENCES t (id))")
    words = ("run", "shop", "--finish", "--quiet")
    shown = tieout(*words)
    assert shown.code == 1, shown.err
    assert "caught up" in shown.out
    lines = shown.out.splitlines()
    assert "statistics are up to date: 2 tables" in lines
    violated = "1 row refers to no row of main.t, for example t_id = 99, in the row with id = 2"
    assert f"foreign key of_t of main.child: {violated}" in lines
    assert lines[lines.index("not moved:") + 1] == "  view: main.names"
    found = json.loads(tieout(*words, "--output", "json").out)["finish"]
    assert [(each["name"], each["state"], each["rows"]) for each in found["foreign_keys"]] == [("of_t", "violated", 1)]
    assert "1 row refers to no row of main.t" in tieout("status", "shop").out

    source.execute("UPDATE child SET t_id = 4 WHERE id = 2")
    target.execute("CREATE VIEW names AS SELECT v FROM t")
    shown = tieout(*words)
    assert (shown.code, "foreign keys without violations: 1" in shown.out) == (0, True)
    assert shown.out.endswith("everything that Tieout knows of was moved\n")

    source.execute("ALTER TABLE child RENAME COLUMN t_id TO other; UPDATE child SET other = 5")
    shown = tieout(*words)
    assert shown.code == 3, shown.out
    assert "not finished: main.child: main.child no longer has a column t_id" in shown.out
    assert "statistics are up to date: 1 table" in shown.out


def _status() -> dict[str, Any]:
    status = api.move_status("shop")
    return {} if status is None else move_status_document(status)


def _until(process: subprocess.Popen[str], true: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline, f"it never happened: {_status()}"
        time.sleep(0.2)
