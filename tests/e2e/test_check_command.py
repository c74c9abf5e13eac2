"""`tieout check` as a program of its own: where statements come from, how it ends, and what goes on without it.

Each start of Spark costs seconds: statements share one wherever that tells as much.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.corruption import sqlite
from tests.e2e.conftest import Ended, Tieout
from tests.servers.sqlite import SqliteDatabase
from tieout import api

if TYPE_CHECKING:
    from tests.servers.server import Database

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

Start = Callable[..., subprocess.Popen[str]]

HERE = ("--master", "local[2]", "--quiet")


@pytest.fixture
def shop(sqlite_db: Callable[[str], SqliteDatabase]) -> SqliteDatabase:
    """`orders` is sound; `broken` lacks an entry; the index of `unreadable` can't be read, as no name is left for its
    rows' numbers.
    """
    database = sqlite_db("shop")
    for table in ("orders", "broken"):
        database.execute(
            f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, sku TEXT); CREATE INDEX {table}_i ON {table} (sku)"
        )
        database.executemany(f"INSERT INTO {table} VALUES (?, ?)", [(n, f"sku-{n}") for n in range(1, 101)])
    database.execute("CREATE TABLE unreadable (rowid, oid, _rowid_); CREATE INDEX unreadable_i ON unreadable (oid)")
    sqlite.missing_entry(database, "broken", "broken_i", "id = 7")
    return database


@pytest.fixture
def fed(start: Start) -> Callable[..., Ended]:
    """Runs the program to its end, with a text for its standard input."""

    def run(text: str, *words: str) -> Ended:
        process = start(*words, stdin=subprocess.PIPE)
        out, err = process.communicate(text, timeout=200)
        return Ended(process.returncode, out, err)

    return run


def documents(ended: Ended) -> list[dict[str, Any]]:
    """The reports on standard output, on which there is nothing else."""
    found, rest = [], ended.out
    while rest:
        document, length = json.JSONDecoder().raw_decode(rest)
        found.append(document)
        rest = rest[length:].lstrip()
    return found


def verdicts(ended: Ended) -> list[tuple[object, object]]:
    return [(each["statement"], each["verdict"]) for each in documents(ended)]


def test_a_statement(tieout: Tieout, pg_db: Database) -> None:
    """All is sound, and an extension that nobody asked for is not there."""
    pg_db.execute("CREATE EXTENSION pageinspect; CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1), (2)")
    ended = tieout("check", pg_db.url, "CHECK TABLE t", "--quiet")
    assert (ended.code, ended.err) == (0, ""), ended.out
    assert ended.out.startswith("clean: ")
    assert "the engine's own checker did not run: amcheck is not installed" in ended.out


@pytest.mark.thorough
def test_a_file_of_statements_ends_with_the_worst_of_them(
    program: Tieout, shop: SqliteDatabase, tmp_path: Path
) -> None:
    asked = {
        "INSPECT TABLE orders": "clean",
        "INSPECT DATABASE main": "failures",
        "INSPECT TABLE unreadable": "unverified",
    }
    file = tmp_path / "nightly.sql"
    file.write_text(";\n".join(asked) + ";\n-- every night; not now\n", encoding="utf-8")
    ended = program("check", shop.url, "--file", str(file), "--output", "json", "--recheck-after", "0s", *HERE)
    assert (ended.code, ended.err) == (1, "")
    assert verdicts(ended) == list(asked.items())
    (failure,) = documents(ended)[1]["failures"]
    told = failure["failure"], failure["index"], failure["primary_key"]
    assert told == ("missing_index_entry", "broken_i", {"id": "7"})


@pytest.mark.thorough
def test_statements_from_standard_input_and_one_that_goes_on_by_itself(
    fed: Callable[..., Ended], program: Tieout, shop: SqliteDatabase
) -> None:
    """What was found by the one that nobody waits for, its job says; the exit code is the other one's."""
    asked = "INSPECT TABLE broken WITH OPTIONS DETACHED; INSPECT TABLE unreadable"
    ended = fed(asked, "check", shop.url, "--output", "json", "--recheck-after", "0s", *HERE)
    assert (ended.code, ended.err) == (3, "")
    detached, report = documents(ended)
    assert (report["statement"], report["verdict"]) == ("INSPECT TABLE unreadable", "unverified")
    assert detached == {"kind": "job", "job": detached["job"]}
    job = detached["job"]
    listed = json.loads(program("jobs", "list", "--output", "json").out)
    assert {each["job"] for each in listed} == {job, report["job"]}
    deadline = time.monotonic() + 120
    while (shown := json.loads(program("jobs", "show", job, "--output", "json").out))["state"] == "running":
        assert time.monotonic() < deadline, "it never ended"
    assert (shown["state"], shown["verdict"]) == ("done", "failures")
    assert "missing_index_entry" in program("failures", "list").out


def test_what_can_not_be_run_ends_with_2_before_anything_is_begun(
    start: Start, program: Tieout, shop: SqliteDatabase, tmp_path: Path
) -> None:
    file = tmp_path / "wrong.sql"
    file.write_text("INSPECT TABLE orders; INSPECT TABEL orders", encoding="utf-8")
    wrong = {
        'expected DATABASE or TABLE, not "TABEL"': ["--file", str(file)],
        "STATEMENT and --file are mutually exclusive": ["INSPECT TABLE orders", "--file", str(file)],
        "--forget takes no statement": ["INSPECT TABLE orders", "--forget"],
        "only CHECK … CHANGED can follow changes": ["INSPECT TABLE orders", "--follow"],
        "no statement given": [],
    }
    began = {said: start("check", shop.url, *words, stdin=subprocess.DEVNULL) for said, words in wrong.items()}
    for said, process in began.items():
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out) == (2, ""), err
        assert err.startswith("error[")
        assert said in err
    assert program("jobs", "list").out == "none\n"


def test_a_follower_tells_what_is_broken_ends_in_order_and_is_forgotten(
    start: Start, program: Tieout, shop: SqliteDatabase, tmp_path: Path
) -> None:
    told = tmp_path / "rounds"
    words = ("check", shop.url, "CHECK TABLE broken INDEX broken_i CHANGED", "--follow", "--every", "0.2s")
    with told.open("w") as file, started(start, *words, "--recheck-after", "0s", *HERE[:2], stderr=file) as process:
        until(process, lambda: "failures: 0 changes up to" in told.read_text())
        shop.execute("INSERT INTO broken VALUES (500, 'new')")
        until(process, lambda: "failures: 1 change up to" in told.read_text())
        os.killpg(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 1, "as the last round"
    assert out.startswith("failures: 1 failure found by 1 check\n")
    assert "missing_index_entry  main.broken.broken_i  id=7" in out
    stopping, end = told.read_text().splitlines()[-2:]
    (job,) = api.list_jobs()
    assert stopping == "stopping; a second signal ends at once"
    assert end == f"job {job.id} has ended; start the command again to continue after the last complete round"
    assert job.state == "interrupted"

    def triggers() -> int:
        ((count,),) = shop.rows("SELECT count(*) FROM sqlite_master WHERE type = 'trigger'")
        return int(count)

    assert triggers() > 0
    forgotten, again = (program("check", shop.url, "--forget") for _ in range(2))
    assert (forgotten.code, forgotten.out, forgotten.err) == (0, "forgotten: main.broken\n", "")
    assert triggers() == 0
    assert (again.code, again.out) == (0, "no table of this database was followed\n")


@contextmanager
def started(start: Start, *words: str, **options: object) -> Iterator[subprocess.Popen[str]]:
    process = start(*words, start_new_session=True, **options)
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def until(process: subprocess.Popen[str], true: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert process.poll() is None, "it has ended"
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.1)
