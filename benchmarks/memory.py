"""Peak memory of one verification: everything the command started, and nothing of the servers."""

from __future__ import annotations

import os
import subprocess
import time
from collections import defaultdict
from pathlib import Path

from benchmarks.databases import Databases, Pair, load_all
from benchmarks.ours import command, wrong_output
from benchmarks.rows import make_rows
from benchmarks.settings import Settings
from benchmarks.sheet import Measurement
from benchmarks.states import State, states

_PAGE = os.sysconf("SC_PAGE_SIZE")
_EVERY = 0.05
_BAR = 1.10


def compare_memory(settings: Settings, databases: Databases, scratch: Path) -> Measurement:
    """Of a large table beside a small one, pulled from both sides: what takes the most memory of ours."""
    pair = databases.across
    peaks: list[float] = []
    wrongs: list[str | None] = []
    for count in settings.memory_rows:
        rows = make_rows(count)
        load_all([pair.source, pair.target], rows, scratch)
        peak, wrong = peak_memory(pair, states(rows)[0], scratch)
        peaks.append(peak)
        wrongs.append(wrong)
    small, large = settings.memory_rows
    wrong = next(filter(None, wrongs), None)
    return Measurement(f"memory/{large:,} rows", peaks[1], f"ours, {small:,} rows", peaks[0], _BAR, "MB", wrong)


def peak_memory(pair: Pair, state: State, scratch: Path) -> tuple[float, str | None]:
    """MB that driver, JVM and Python workers held at once, at the most; and what was wrong with the answer."""
    with (scratch / "stdout").open("w+") as out, (scratch / "stderr").open("w+") as err:
        process = subprocess.Popen(command(pair, 64, scratch), stdout=out, stderr=err)
        peak = 0
        while process.poll() is None:
            peak = max(peak, resident(process.pid))
            time.sleep(_EVERY)
        out.seek(0)
        err.seek(0)
        return peak / 1e6, wrong_output(out.read(), err.read(), state)


def resident(root: int) -> int:
    """Bytes of a process and all its descendants. Pages that they share count for each of them."""
    children: dict[int, list[int]] = defaultdict(list)
    pages: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # The name, in parentheses, may hold anything; the parent is the second field after it.
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        children[int(fields[1])].append(int(entry.name))
        pages[int(entry.name)] = int(fields[21])
    total, waiting = 0, [root]
    while waiting:
        process = waiting.pop()
        total += pages.get(process, 0)
        waiting += children[process]
    return total * _PAGE
