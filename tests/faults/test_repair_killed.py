"""A repair that is killed at any point: what the meta store says is true, and it goes on where it was."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.repairing import Pair
from tests.variants import later
from tieout.meta import ChangeAction, ChangeState, RepairState
from tieout.repair.from_differences.execute import IN_FLIGHT

BATCH = 4

KILLED = """
import os, signal, sys
from tieout.config.urls import parse_url
from tieout.meta import open_store
from tieout.repair import from_differences as repair
from tieout.repair.from_differences import tables

meta, source, target, action, point, count, batch = sys.argv[1:]
left = int(count)

def reached(name):
    global left
    left -= name == point
    if name == point and left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

class Writer:
    def __init__(self, writer):
        self._writer = writer
    def __getattr__(self, name):
        return getattr(self._writer, name)
    def execute(self, statement):
        changed = self._writer.execute(statement)
        reached("after a statement")
        return changed
    def commit(self):
        reached("before a commit")
        self._writer.commit()
        reached("after a commit")

open_writer = tables.open_writer
tables.open_writer = lambda url: Writer(open_writer(url))
work = {"apply": repair.apply_repair, "undo": repair.undo_repair}[action]
with open_store(meta) as store:
    work(store, "last", parse_url(source), parse_url(target), batch=int(batch),
         listener=lambda progress: reached("after a record"))
"""

POINTS = ["after a statement", "before a commit", "after a commit", "after a record"]
ENGINES = ["sqlite", "postgres", "mariadb"]

on = pytest.mark.parametrize
# One point of each server, and all where no server has to be asked.
SOON = {("postgres", POINTS[0]), ("mariadb", POINTS[2])}
everywhere = [
    (engine, point) if engine == "sqlite" or (engine, point) in SOON else later(engine, point)
    for engine in ENGINES
    for point in POINTS
    if engine == "sqlite" or point != POINTS[3]
]


@pytest.fixture
def pair(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> Pair:
    """Nine rows each to be inserted, updated and deleted; all are planned."""
    if engine == "sqlite":
        create: Callable[[str], Any] = request.getfixturevalue("sqlite_db")
        pair = Pair.of(create("source"), create("target"), tmp_path)
    else:
        names = {"postgres": ("pg_db", "pg_db_b"), "mariadb": ("mysql_db", "mysql_db_b")}[engine]
        pair = Pair.of(*(request.getfixturevalue(name) for name in names), tmp_path)
    pair.both("CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v VARCHAR(20))")
    pair.source.execute("INSERT INTO t VALUES " + ", ".join(f"({i}, 's{i}')" for i in range(18)))
    pair.target.execute("INSERT INTO t VALUES " + ", ".join(f"({i}, 't{i}')" for i in range(9, 27)))
    pair.compare("t")
    plan = pair.plan()
    assert (plan.inserts, plan.updates, plan.deletes) == (9, 9, 9)
    return pair


@on(("engine", "point"), everywhere)
def test_apply_goes_on(pair: Pair, point: str) -> None:
    before = rows(pair.target)
    kill(pair, "apply", point, 3)
    half = rows(pair.target)
    assert half != rows(pair.source)
    for change in pair.changes():
        if change.message != IN_FLIGHT:
            key = int(str(change.key["id"]))
            assert (half.get(key) != before.get(key)) == (change.state is ChangeState.APPLIED), change
    with pair.store() as store:
        assert store.repairs.get("last").state is RepairState.APPLYING

    applied = pair.apply()
    assert (applied.done, applied.skipped, applied.failed, applied.equal) == (27, 0, 0, True)
    assert rows(pair.target) == rows(pair.source)
    assert pair.undo().done == 27
    assert rows(pair.target) == before


@on("engine", ["sqlite", later("postgres")])
def test_undo_takes_back_what_a_killed_apply_had_committed(pair: Pair) -> None:
    before = rows(pair.target)
    kill(pair, "apply", "after a commit", 2)
    assert len(set(before.items()) ^ set(rows(pair.target).items())) == 2 * BATCH, "eight deletes"
    assert pair.undo().done == 2 * BATCH
    assert rows(pair.target) == before


@on(("engine", "point"), [("sqlite", POINTS[2]), ("postgres", POINTS[0]), later("mariadb", POINTS[2])])
def test_undo_goes_on(pair: Pair, point: str) -> None:
    before = rows(pair.target)
    pair.apply()
    kill(pair, "undo", point, 3)
    assert rows(pair.target) != before
    undone = pair.undo()
    assert (undone.done, undone.skipped, undone.failed) == (27, 0, 0)
    assert rows(pair.target) == before


def kill(pair: Pair, action: str, point: str, count: int) -> None:
    arguments = [pair.meta, pair.source.url, pair.target.url, action, point, str(count), str(BATCH)]
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, *arguments], check=False, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    of_rows = {ChangeAction.INSERT, ChangeAction.UPDATE, ChangeAction.DELETE}
    assert {change.action for change in pair.changes()} == of_rows


def rows(database: Any) -> dict[int, str]:
    return dict(database.rows("SELECT id, v FROM t"))
