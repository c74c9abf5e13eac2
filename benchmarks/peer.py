"""reladiff, timed: in a warm process of its own, or as a fresh one."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.databases import TABLE, Pair
from benchmarks.rows import COLUMNS
from benchmarks.sheet import Timed
from benchmarks.states import State
from tests.servers.server import Database

NAME = "reladiff 0.6"
THREADS = os.cpu_count() or 1
"""Connections to each database: its default is 1, with which one side waits for the other."""

_ROOT = Path(__file__).resolve().parent.parent
_WORKER = Path(__file__).with_name("reladiff_worker.py")


class Peer:
    """A process that has imported reladiff and waits for requests."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def diff(self, pair: Pair, state: State) -> Timed:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(_request(pair) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{NAME} ended with {self._process.wait()}")
        answer = json.loads(line)
        return Timed(answer["seconds"], _wrong(answer, state))


@contextmanager
def warm_peer() -> Iterator[Peer]:
    process = subprocess.Popen(_command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        yield Peer(process)
        assert process.stdin is not None
        process.stdin.close()


def diff_fresh(pair: Pair, state: State) -> Timed:
    """From nothing to its exit: Python starts, connections are opened."""
    started = time.perf_counter()
    ended = subprocess.run(_command(), input=_request(pair), check=True, stdout=subprocess.PIPE, text=True)
    return Timed(time.perf_counter() - started, _wrong(json.loads(ended.stdout), state))


def _command() -> list[str]:
    python = Path(os.environ.get("PEER_PYTHON", _ROOT / ".venv-peer" / "bin" / "python"))
    if not python.exists():
        raise SystemExit(f"{python} is not there: run make bench-verify, which installs {NAME}")
    return [str(python), str(_WORKER)]


def _request(pair: Pair) -> str:
    return json.dumps(
        {
            "source": _end(pair.source),
            "target": _end(pair.target),
            "table": TABLE,
            "key": COLUMNS[0],
            "columns": COLUMNS[1:],
            "threads": THREADS,
        }
    )


def _end(database: Database) -> dict[str, Any]:
    server = database.server
    return {
        "driver": server.scheme,
        "host": server.host,
        "port": server.port,
        "user": server.user,
        "password": server.password,
        "database": database.name,
    }


def _wrong(answer: dict[str, Any], state: State) -> str | None:
    if answer["rows"] == state.counts.total:
        return None
    return f"{NAME} found {answer['rows']} rows that differ"
