"""`make soak`: two movers follow sources that are written to all the time; is memory flat, lag bounded, all equal?

SECONDS sets how long (30 minutes).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)

from tests.faults.moving import workload  # noqa: E402
from tests.servers.mariadb import start_mariadb  # noqa: E402
from tests.servers.postgres import start_postgres  # noqa: E402
from tieout import api  # noqa: E402
from tieout.meta import Wanted  # noqa: E402

if TYPE_CHECKING:
    from tests.servers.server import Database

EVERY_SECONDS = 10.0
MOST_GROWTH, MOST_LAG = 1.10, 10.0
PATIENCE = 180.0


@dataclass
class Moved:
    """A task that runs, and what was seen of it."""

    task: str
    source: Database
    target: Database
    process: subprocess.Popen[bytes] | None = None
    megabytes: list[float] = field(default_factory=list)
    lags: list[float] = field(default_factory=list)


def main() -> int:
    seconds = float(os.environ.get("SECONDS") or 1800)
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tieout-soak-")))
        tasks = _tasks(stack)
        _write_configuration(directory, tasks)
        meta = f"sqlite:///{directory}/meta.db"
        for moved in tasks:
            workload.create(moved.source)
            workload.fill(moved.source)
            stack.enter_context(_running(moved, directory, meta))
        with ExitStack() as writers:
            counts = [
                writers.enter_context(workload.writing(moved.source, number)) for number, moved in enumerate(tasks)
            ]
            _watch(tasks, meta, seconds)
        print(f"{sum(count for (count,) in counts):,} transactions in {seconds:,.0f} s")
        equal = [_becomes_equal(moved) for moved in tasks]
        judged = [_judged(moved, is_equal) for moved, is_equal in zip(tasks, equal, strict=True)]
        return 0 if all(judged) else 1


def _tasks(stack: ExitStack) -> list[Moved]:
    mariadb = [start_mariadb(time_zone="+00:00", server_id=number, settings={}) for number in (1, 2)]
    postgres = [start_postgres(settings={"wal_level": "logical"}) for _ in range(2)]
    for server in (*mariadb, *postgres):
        stack.callback(server.stop)
    one, two, three, four = (stack.enter_context(server.fresh_database()) for server in (*mariadb, *postgres))
    return [Moved("mariadb-postgres", one, four), Moved("postgres-mariadb", three, two)]


def _write_configuration(directory: Path, tasks: list[Moved]) -> None:
    lines = [f"meta: sqlite:///{directory}/meta.db", "tasks:"]
    for moved in tasks:
        lines += [
            f"  {moved.task}:",
            f"    source: {moved.source.url}",
            f"    target: {moved.target.url}",
            "    delivery: exactly-once",
            "    tables: [keyed, named, loose, events]",
        ]
    (directory / "tieout.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")


@contextmanager
def _running(moved: Moved, directory: Path, meta: str) -> Iterator[None]:
    words = [sys.executable, "-m", "tieout", "run", moved.task, "--quiet"]
    with open(directory / f"{moved.task}.log", "wb") as log:
        moved.process = subprocess.Popen(words, cwd=directory, stdout=log, stderr=log)
        try:
            yield
        finally:
            if moved.process.poll() is None:
                api.control_move(moved.task, Wanted.STOP, meta)
            if moved.process.wait(timeout=120) != 0:
                print((directory / f"{moved.task}.log").read_text(encoding="utf-8"))


def _watch(tasks: list[Moved], meta: str, seconds: float) -> None:
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        time.sleep(EVERY_SECONDS)
        for moved in tasks:
            assert moved.process is not None
            assert moved.process.poll() is None, f"{moved.task} ended"
            status = api.move_status(moved.task, meta)
            if status is not None and status.state == "following" and status.lag_seconds is not None:
                moved.megabytes.append(_megabytes(moved.process.pid))
                moved.lags.append(status.lag_seconds)
        told = ", ".join(f"{m.task} {m.megabytes[-1]:,.0f} MB {m.lags[-1]:.1f} s" for m in tasks if m.lags)
        print(f"{time.monotonic() - began:6,.0f} s  {told}", flush=True)


def _megabytes(pid: int) -> float:
    """What a process and all that it started hold of memory; of files, which others may share, nothing."""
    found = [pid]
    for child in found:
        with suppress(OSError):  # it is gone
            for task in Path(f"/proc/{child}/task").glob("*/children"):
                found += [int(text) for text in task.read_text().split()]
    total = 0
    for each in found:
        try:
            lines = Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue  # it is gone
        total += next(int(line.split()[1]) for line in lines if line.startswith("Pss_Anon:"))
    return total / 1024


def _becomes_equal(moved: Moved) -> bool:
    """Compared without our own code."""
    deadline = time.monotonic() + PATIENCE
    expected = workload.contents(moved.source)
    while time.monotonic() < deadline:
        if workload.contents(moved.target) == expected:
            return True
        time.sleep(1)
    return False


def _judged(moved: Moved, is_equal: bool) -> bool:
    # The first quarter warms up.
    rest = moved.megabytes[len(moved.megabytes) // 4 :]
    third = max(1, len(rest) // 3)
    growth = median(rest[-third:]) / median(rest[:third])
    lag = sorted(moved.lags)[int(len(moved.lags) * 0.95)]
    print(
        f"{moved.task}: {'equal' if is_equal else 'DIFFERENT'}; memory {median(rest[:third]):,.0f} MB, then "
        f"{median(rest[-third:]):,.0f} MB = {growth:.2f} (bar {MOST_GROWTH}); lag 95 % {lag:.1f} s, most "
        f"{max(moved.lags):.1f} s (bar {MOST_LAG:.0f} s)"
    )
    return is_equal and growth <= MOST_GROWTH and lag <= MOST_LAG


if __name__ == "__main__":
    sys.exit(main())
