"""The program itself, in a pipe and under signals: what only a process of its own can show."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import Tieout
from tests.servers.sqlite import SqliteDatabase
from tieout import api

ROWS = 6_000


@pytest.fixture
def pair(sqlite_db: Callable[[str], SqliteDatabase]) -> tuple[SqliteDatabase, SqliteDatabase]:
    sides = sqlite_db("source"), sqlite_db("target")
    for side in sides:
        side.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)")
        side.executemany("INSERT INTO t VALUES (?, ?)", [(n, f"ü{n}") for n in range(ROWS)])
    sides[1].execute("UPDATE t SET v = '→' WHERE id = 7; DELETE FROM t WHERE id = 5999")
    return sides


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_demo_moves_a_shop_and_finds_and_repairs_every_fault(program: Tieout, tmp_path: Path):
    ended = program("demo", "--keep", "shop", "--master", "local[2]")
    assert ended.code == 0, ended.out + ended.err
    assert ended.err == ""
    assert ended.out.count("✓") == 5
    moved = re.search(r"1\. Move, .*: ([\d,]+) rows copied, ([\d,]+) changes made meanwhile and followed", ended.out)
    assert moved, ended.out
    assert int(moved[1].replace(",", "")) >= 100_000
    assert int(moved[2].replace(",", "")) > 0
    assert "2. Verify: equal" in ended.out
    assert "6. Verify once more: equal" in ended.out
    assert (tmp_path / "tieout-demo.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert (tmp_path / "shop" / "target.db").exists()


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_json_in_a_pipe_and_a_reader_that_has_seen_enough(start, pair):
    source, target = pair
    words = ("verify", "--source", source.url, "--target", target.url, "--output", "json", "--master", "local[2]")
    process = start(*words)
    reader = subprocess.run(["head", "-n", "3"], stdin=process.stdout, capture_output=True, text=True, check=True)
    process.stdout.close()
    error = process.stderr.read()
    assert process.wait(timeout=120) == 1, error
    assert reader.stdout.splitlines()[2] == '  "verdict": "different",'
    assert "Broken" not in error
    assert "Traceback" not in error


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_ctrl_c_then_resume(start, tieout: Tieout, pair):
    source, target = pair
    process = start(
        *("verify", "--source", source.url, "--target", target.url, "--master", "local[2]"),
        *("--chunk-rows", "300", "--max-rows-per-second", "2000"),
        start_new_session=True,
    )
    job = _running_job(process)
    _wait_for(lambda: any(table.rows_done for table in api.show_job(job).tables))
    listed = json.loads(tieout("jobs", "list", "--state", "running", "-o", "json").out)
    assert [each["job"] for each in listed] == [job], "another process sees it"
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: Java and the Python workers get it, too
    out, error = process.communicate(timeout=120)
    assert process.returncode == 130, error
    assert out == ""
    assert error.splitlines()[-1] == f"job {job} is interrupted: continue with tieout verify --resume {job}"
    assert "Traceback" not in error

    assert json.loads(tieout("jobs", "list", "-o", "json").out)[0]["state"] == "interrupted"
    resumed = tieout("verify", "--resume", job, "--quiet", "--output", "json")
    assert resumed.code == 1
    result = json.loads(resumed.out)
    assert result["job"] == job
    assert [(d["kind"], d["key"]["id"]) for d in result["differences"]] == [("changed", "7"), ("missing", "5999")]
    assert result["tables"][0]["rows"] == {"source": ROWS, "target": ROWS - 1}
    again = tieout("verify", "--resume", job)
    assert again.code == 2
    assert f"job {job} is a verification that is done" in again.err


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_paused_and_cancelled_from_another_terminal(start, program: Tieout, pair):
    source, target = pair
    process = start(
        *("verify", "--source", source.url, "--target", target.url, "--master", "local[2]"),
        *("--chunk-rows", "300", "--max-rows-per-second", "600", "--quiet"),
    )
    job = _running_job(process)
    assert program("jobs", "pause", "last").out.startswith(f"job {job} will pause")
    out, error = process.communicate(timeout=200)
    assert (process.returncode, out) == (130, "")
    assert error == f"job {job} is paused: continue with tieout verify --resume {job}\n"
    assert program("jobs", "cancel", job).out == f"job {job} is cancelled\n"
    refused = program("jobs", "resume", job)
    assert refused.code == 2
    assert "can't be resumed" in refused.err


def test_a_second_signal_ends_at_once(start):
    """While it waits for a server that accepts and never answers."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"postgresql://u@127.0.0.1:{silent.getsockname()[1]}/d?connect_timeout=60"
        process = start("verify", "--source", url, "--target", url, "--quiet")
        silent.settimeout(60)
        connection, _ = silent.accept()
        process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        out, error = process.communicate(timeout=20)
        connection.close()
    assert (process.returncode, out) == (130, "")
    assert error.splitlines()[0] == "stopping; a second signal ends at once"
    assert "Traceback" not in error


def _running_job(process: subprocess.Popen[str]) -> str:
    found: list[str] = []

    def look() -> bool:
        assert process.poll() is None, process.communicate()[1]
        found[:] = [job.id for job in api.list_jobs(state="running")]
        return bool(found)

    _wait_for(look)
    return found[0]


def _wait_for(true: Callable[[], bool], seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.3)
