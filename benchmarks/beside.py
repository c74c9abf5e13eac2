"""`make bench-verify BESIDE=COMMIT`, `bench-move`, `bench-check`: the working tree beside a commit, in one run.

Each tree runs its own benchmark code on its own sources. A round measures both trees, one after the other, and the next
round turns the order round; the best measurement of each tree counts. The peers do not run: they take most of the time,
and say nothing about a change of ours. The ratio of each round shows how steady the machine was.

ROUNDS sets the number of rounds, RUNS how often a round times each case; the other settings are the benchmark's own.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SLOWEST = 1.1
BEFORE, NOW = "before", "now"


def main(benchmark: str, commit: str) -> int:
    """1 if a case is slower than before by more than a tenth, or could not be measured."""
    rounds = int(os.environ.get("ROUNDS") or 3)
    with tempfile.TemporaryDirectory(prefix="tieout-beside-") as directory:
        trees = {BEFORE: Path(directory, BEFORE), NOW: Path(directory, NOW)}
        _unpack(["git", "archive", commit, "src", "tests", "benchmarks"], trees[BEFORE])
        _unpack(["tar", "-c", "--exclude=__pycache__", "src", "tests", "benchmarks"], trees[NOW])
        measured: dict[str, list[Round]] = {name: [] for name in trees}
        for number in range(rounds):
            for name in list(trees)[:: 1 if number % 2 == 0 else -1]:
                print(f"\nRound {number + 1} of {rounds}, {name}", flush=True)
                measured[name].append(_measure(trees[name], benchmark))
    return _show(measured)


def _unpack(command: list[str], tree: Path) -> None:
    tree.mkdir()
    archive = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    subprocess.run(["tar", "-x", "-C", tree], input=archive, check=True)


@dataclass
class Round:
    """What one tree measured in one round: the figure of each case, and what was wrong with other cases."""

    figures: dict[str, float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


def _measure(tree: Path, benchmark: str) -> Round:
    results = tree / "benchmarks" / "results" / f"{benchmark}.json"
    results.unlink(missing_ok=True)  # the commit has results of its own: a crash must not leave those to be read
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    if not environment.get("RUNS"):  # the first run of a session is slow: the JVM warms up
        environment["RUNS"] = "1" if benchmark == "move" else "2"
    subprocess.run([sys.executable, __file__, benchmark], cwd=tree, env=environment, check=False)
    found = Round()
    if not results.exists():
        found.wrong.append(f"{benchmark}.py ended without results")
        return found
    for row in json.loads(results.read_text()):
        if row["ours"] is None or ": " in row["case"]:
            found.wrong.append(row["case"])
        elif row["peer"] != AMCHECK:  # the same measurement as the case before it
            found.figures[row["case"]] = row["ours"]
    return found


def _show(measured: dict[str, list[Round]]) -> int:
    cases = dict.fromkeys(case for rounds in measured.values() for found in rounds for case in found.figures)
    width = max(map(len, cases), default=4)
    print(f"\n{'case':{width}} {'before':>9} {'now':>9} {'ratio':>7}   each round")
    failed = not cases
    for case in cases:
        best = {
            name: min((found.figures[case] for found in rounds if case in found.figures), default=None)
            for name, rounds in measured.items()
        }
        ratio = _ratio(best[BEFORE], best[NOW])
        each = [
            _ratio(before.figures.get(case), now.figures.get(case))
            for before, now in zip(measured[BEFORE], measured[NOW], strict=True)
        ]
        slower = ratio is None or ratio > SLOWEST
        failed |= slower
        verdict = "" if not slower else "  not measured" if ratio is None else "  slower"
        print(
            f"{case:{width}} {_text(best[BEFORE]):>9} {_text(best[NOW]):>9} {_text(ratio):>7}   "
            f"{' '.join(map(_text, each))}{verdict}"
        )
    for name, rounds in measured.items():
        for number, found in enumerate(rounds):
            for wrong in found.wrong:
                failed = True
                print(f"! round {number + 1}, {name}: {wrong}")
    print("\nSeconds (memory: MB), the best of all rounds; ratio: now / before, of the best and of each round.")
    return 1 if failed else 0


def _ratio(before: float | None, now: float | None) -> float | None:
    return now / before if before and now else None


def _text(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}" if value >= 100 else f"{value:.2f}"


# ------------------------------------------------------------------------- in the process of one tree, below the parent

AMCHECK = "pg_amcheck --heapallindexed"


def run_without_peers(benchmark: str) -> int:
    """The benchmark of the tree in the current directory, each peer replaced by one that answers at once."""
    tree = Path.cwd()
    sys.path[0] = str(tree)
    source = Path(str(importlib.import_module("tieout").__file__))
    if not source.is_relative_to(tree):
        raise SystemExit(f"tieout is imported from {source}, not from {tree}")
    from benchmarks.sheet import Timed

    at_once: Callable[..., Timed] = lambda *_, **__: Timed(0.0)  # noqa: E731

    @contextmanager
    def warm_peer() -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(diff=at_once)

    peers: dict[str, dict[str, Any]] = {
        "verify": {
            "benchmarks.peer.warm_peer": warm_peer,
            "benchmarks.peer.diff_fresh": at_once,
            "benchmarks.frames._except_all": at_once,
        },
        "check": {"benchmarks.checking.run.fetch": at_once, "benchmarks.checking.run._amcheck": at_once},
        "move": {
            "benchmarks.moving.copying._peer": at_once,
            "benchmarks.moving.following._bare": lambda *_: 0.0,
            "benchmarks.decoding._theirs": lambda *_: iter([sys.maxsize]),
        },
    }
    for path, replacement in peers[benchmark].items():
        module, _, name = path.rpartition(".")
        found = importlib.import_module(module)
        getattr(found, name)  # a peer under another name would run
        setattr(found, name, replacement)
    return int(importlib.import_module(f"benchmarks.{benchmark}").main())


if __name__ == "__main__":
    if len(sys.argv) == 2:
        sys.exit(run_without_peers(sys.argv[1]))
    sys.path[0] = str(ROOT)
    sys.exit(main(*sys.argv[1:]))
