"""Starts movers and kills them: at a moment, once they follow the log, or at a named place of their code."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from importlib.util import find_spec
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[3]
_PLACE = re.compile(r'\breach\("([a-z-]+)"\)')
_LOOK_SECONDS = 0.05
_TICK = 0.002
_NEVER = 1 << 30


def failpoints() -> list[str]:
    """The named places of the code under test."""
    spec = find_spec("tieout")
    assert spec is not None
    assert spec.origin is not None
    sources = Path(spec.origin).parent.rglob("*.py")
    return sorted({place for source in sources for place in _PLACE.findall(source.read_text())})


@dataclass(frozen=True)
class Kill:
    """When a mover is killed: `seconds` after it starts, or after it follows the log (`following`).

    With a `place`, the so many-th time (`times`) that it is reached, or `delay` seconds later; and if it never is, some
    seconds after the mover follows the log. `workers`: Spark's Python workers die with it, as they would with the
    machine; else they go on with what they were at, as those of a cluster would. `cut`: all connections to that side
    (source or target) are cut half-way.
    """

    seconds: float
    following: bool = False
    place: str | None = None
    times: int = 1
    delay: float | None = None
    workers: bool = False
    cut: str | None = None


@dataclass(frozen=True)
class Ended:
    """How a mover ended, at what moment, and what it said. `place`: where in its code it was killed.

    `stuck`: it was killed because it did not get on.
    """

    code: int
    at: float
    words: str
    place: str | None = None
    stuck: bool = False
    status: dict[str, Any] | None = None

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL


class _How(Enum):
    AT_PLACE = "by itself, or at the place where it was to be killed"
    IN_TIME = "killed when its time had come"
    STUCK = "killed because it did not get on"


@dataclass(frozen=True)
class Hooks:
    """What is done on the way: once a mover follows the log, and when its connections to one side are to be cut."""

    follows: Callable[[], None]
    cut: Callable[[str], None]


@dataclass
class Movers:
    """Of one Spark, one at a time."""

    spark: SparkSession
    directory: Path
    _answers: Queue[dict[str, Any]] = field(default_factory=Queue)

    def __post_init__(self) -> None:
        gateway = self.spark.sparkContext._gateway
        self._environment = {
            "PYSPARK_GATEWAY_PORT": str(gateway.gateway_parameters.port),
            "PYSPARK_GATEWAY_SECRET": gateway.gateway_parameters.auth_token,
        }
        self._jvm = gateway.proc.pid
        self._zygote = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.kills.zygote"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        Thread(target=self._listen, daemon=True).start()
        self._answer(60)

    def close(self) -> None:
        self._zygote.kill()
        self._zygote.wait()

    def run(self, asked: dict[str, Any], kill: Kill | None, on: Hooks, limit: float) -> Ended:
        """A mover until it is killed, or without a kill until it has caught up.

        One that takes longer than `limit` seconds is killed as well.
        """
        words, result = self.directory / "words", self.directory / "result"
        for left in (words, result, *self._failpoint_files()):
            left.unlink(missing_ok=True)
        place = None
        if kill is not None and kill.place is not None:
            # One that is killed later is only seen there.
            place = (kill.place, kill.times if kill.delay is None else _NEVER)
        more = {"words": str(words), "result": str(result), "failpoint": place, "environment": self._environment}
        began = datetime.now(UTC)
        self._ask({**asked, **more, "until_caught_up": kill is None})
        process = self._answer(10)["process"]
        how = self._killed_or_ended(process, kill, on, lambda: state(asked["meta"], began), limit)
        code = int(self._answer(10)["code"])
        at = time.monotonic()
        if kill is not None and kill.workers:
            self._kill_workers()
        for left in self._failpoint_files():
            left.unlink(missing_ok=True)
        said = words.read_text(errors="replace") if words.exists() else ""
        reached = kill.place if kill is not None and how is _How.AT_PLACE and code == -signal.SIGKILL else None
        status = json.loads(result.read_text()) if result.exists() else None
        return Ended(code, at, said, reached, how is _How.STUCK, status)

    def _killed_or_ended(
        self, process: int, kill: Kill | None, on: Hooks, says: Callable[[], str | None], limit: float
    ) -> _How:
        """Waits until the mover has ended, or it is time to kill it."""
        late = kill is None or kill.following or kill.place is not None
        until = time.monotonic() + (limit if late or kill is None else kill.seconds)
        following, look_at, cut_at = False, 0.0, math.inf
        while self._answers.empty():
            if kill is not None and kill.delay is not None and self._times_reached() >= kill.times:
                time.sleep(kill.delay)
                _kill_group(process)
                return _How.AT_PLACE
            now = time.monotonic()
            if not following and now > look_at:
                look_at, following = now + _LOOK_SECONDS, says() == "following"
                if following:
                    on.follows()
                    if kill is not None and late:
                        until = now + kill.seconds
                        cut_at = now + kill.seconds / 2
            if kill is not None and kill.cut is not None and now > cut_at:
                cut_at = math.inf
                on.cut(kill.cut)
            if now > until:
                _kill_group(process)
                return _How.STUCK if late and not (following and kill) else _How.IN_TIME
            time.sleep(_TICK)
        return _How.AT_PLACE

    def _times_reached(self) -> int:
        with suppress(OSError):
            return self._failpoint_files()[1].stat().st_size
        return 0

    def _kill_workers(self) -> None:
        """But not the daemons that start them: Spark finds out that a worker is dead by its daemon alone."""
        for daemon in _children(self._jvm):
            for worker in _children(daemon):
                with suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)

    def _ask(self, words: dict[str, Any]) -> None:
        assert self._zygote.stdin is not None
        self._zygote.stdin.write(json.dumps(words) + "\n")
        self._zygote.stdin.flush()

    def _answer(self, seconds: float) -> dict[str, Any]:
        return self._answers.get(timeout=seconds)

    def _listen(self) -> None:
        assert self._zygote.stdout is not None
        for line in self._zygote.stdout:
            self._answers.put(json.loads(line))

    @staticmethod
    def _failpoint_files() -> tuple[Path, Path]:
        chosen = os.environ["TIEOUT_FAILPOINT"]
        return Path(chosen), Path(f"{chosen}.reached")


def state(meta: str, since: datetime) -> str | None:
    """What a mover says that it does, from the file that it says it in; None if only an earlier one did."""
    file = meta.removeprefix("sqlite:///")
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        for (text,) in connection.execute("SELECT status FROM tieout_moves"):
            status = json.loads(text)
            return str(status["state"]) if datetime.fromisoformat(status["updated_at"]) > since else None
    return None


def _kill_group(process: int) -> None:
    for kill in (os.killpg, os.kill):  # it may not have a group of its own yet
        with suppress(ProcessLookupError):
            kill(process, signal.SIGKILL)


def _children(process: int) -> list[int]:
    with suppress(OSError):
        return [int(child) for task in Path(f"/proc/{process}/task").iterdir() for child in _of_task(task)]
    return []


def _of_task(task: Path) -> list[str]:
    return (task / "children").read_text().split()


@contextmanager
def spark_for_movers(directory: Path) -> Iterator[SparkSession]:
    """A Spark of this process's own. Its processes know where fail points are chosen."""
    os.environ["TIEOUT_FAILPOINT"] = str(directory / "failpoint")
    from tieout.spark.session import start_session

    conf = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
    session = start_session(master="local[2]", conf=conf)
    try:
        yield session
    finally:
        session.stop()
