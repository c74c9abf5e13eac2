"""`make bench-move BESIDE=COMMIT`: the benchmark of the working tree beside that of a commit, in one run.

Each round runs both, one after the other, in turns; the best of a side counts. A round is a whole `make bench-move`
with one measurement of each case, so that its peers run beside both: what they take tells how steady the machine was.
ROUNDS sets how many there are; the other settings are those of `make bench-move`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SLOWEST = 1.1


def main(commit: str) -> int:
    """1 if a case is slower than before by more than a tenth, or could not be measured."""
    rounds = int(os.environ.get("ROUNDS") or 3)
    with tempfile.TemporaryDirectory(prefix="tieout-beside-") as directory:
        trees = {"before": Path(directory, "before"), "now": Path(directory, "now")}
        _unpack(["git", "archive", commit, "src", "tests", "benchmarks"], trees["before"])
        _unpack(["tar", "-c", "--exclude=__pycache__", "src", "tests", "benchmarks"], trees["now"])
        measured: dict[str, list[dict[str, dict[str, Any]]]] = {name: [] for name in trees}
        for number in range(rounds):
            for name in list(trees)[:: 1 if number % 2 == 0 else -1]:
                print(f"\nRound {number + 1} of {rounds}, {name}", flush=True)
                measured[name].append(_measure(trees[name]))
    return _show(measured)


def _unpack(command: list[str], tree: Path) -> None:
    tree.mkdir()
    archive = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    subprocess.run(["tar", "-x", "-C", tree], input=archive, check=True)


def _measure(tree: Path) -> dict[str, dict[str, Any]]:
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "RUNS": "1"}
    subprocess.run([sys.executable, "benchmarks/move.py"], cwd=tree, env=environment, check=False)
    return {row["case"]: row for row in json.loads((tree / "benchmarks/results/move.json").read_text())}


def _show(measured: dict[str, list[dict[str, dict[str, Any]]]]) -> int:
    names = dict.fromkeys(case for runs in measured.values() for run in runs for case in run)
    print(f"\n{'case':40} {'before':>9} {'now':>9} {'ratio':>7}   peer before / now")
    failed = False
    for case in names:
        best = {
            (side, whose): min((run[case][whose] for run in runs if case in run and run[case][whose]), default=None)
            for side, runs in measured.items()
            for whose in ("ours", "theirs")
        }
        before, now = best["before", "ours"], best["now", "ours"]
        ratio = now / before if before and now else None
        failed |= ratio is None or ratio > SLOWEST
        peers = f"{_text(best['before', 'theirs'])} / {_text(best['now', 'theirs'])}"
        verdict = "" if ratio is not None and ratio <= SLOWEST else "  slower" if ratio else "  not measured"
        print(f"{case:40} {_text(before):>9} {_text(now):>9} {_text(ratio):>7}   {peers}{verdict}")
    return 1 if failed else 0


def _text(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


if __name__ == "__main__":
    sys.path[0] = str(ROOT)
    sys.exit(main(sys.argv[1]))
