"""make test-kills: kills movers at random, and judges what their targets hold.

Seeds are printed. A run that was ended, by whatever, goes on where it was: kills count as long as the code under test
is the same. Ends with 1 if a promise was broken.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any

from tests.faults.kills.history import DELIVERIES, Plan
from tests.faults.kills.ledger import Ledger, commit
from tests.faults.kills.places import PAIRS
from tests.faults.kills.worker import EVIDENCE, ROOT

_HISTORIES_OF_A_WORKER = 25
"""A Spark that outlived so many movers has much of theirs to carry."""
_HISTORY_SECONDS = 900


def main() -> int:
    asked = _asked()
    ledger = Ledger(asked.ledger) if asked.ledger else Ledger()
    ledger.close()  # what a run left that was killed itself
    done = 0 if asked.seed is not None else ledger.kills()
    seeds = _seeds(asked.seed if asked.seed is not None else ledger.next_seed(), asked.pair, asked.delivery)
    until = time.monotonic() + asked.minutes * 60 if asked.minutes else None
    say(f"{done} of {asked.kills} movers of {commit()} (code {ledger.code}) were killed before")
    crew = _Crew(asked.workers)
    broken = 0

    def wanted() -> Iterator[int]:
        while done < asked.kills and (until is None or time.monotonic() < until):
            yield next(seeds)

    try:
        for seed, told in crew.play(wanted()):
            if "error" in told:
                say(f"seed {seed}: the harness failed\n{told['error']}")
                return 2
            ledger.keep({"commit": commit(), **told})
            done += told["kills"]
            broken += bool(told["violations"])
            say(f"{_line(told)}  [{done} of {asked.kills}]")
            for violation in told["violations"]:
                say(f"    {violation}")
    except KeyboardInterrupt:
        say("interrupted: make test-kills goes on")
    finally:
        crew.close()
        for run in ledger.close():
            say(json.dumps(run))
    if broken:
        say(f"{broken} histories broke a promise: see {EVIDENCE.relative_to(ROOT)}/SEED.json")
    return 1 if broken else 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=500, help="how many movers to kill, those of earlier runs counted")
    parser.add_argument("--minutes", type=float, default=0, help="end after so long; 0: whenever it is done")
    parser.add_argument("--workers", type=int, default=2, help="how many histories to play at a time")
    parser.add_argument("--seed", type=int, help="the first seed, instead of one that was never used")
    parser.add_argument("--pair", action="append", choices=PAIRS, help="leave other pairs out")
    parser.add_argument("--delivery", action="append", choices=DELIVERIES, help="leave other deliveries out")
    parser.add_argument("--ledger", type=Path, help="another file of runs than the one that is committed")
    return parser.parse_args()


def _seeds(first: int, pairs: list[str] | None, deliveries: list[str] | None) -> Iterator[int]:
    for seed in count(first):
        plan = Plan.of(seed)
        if plan.pair in (pairs or PAIRS) and plan.delivery in (deliveries or DELIVERIES):
            yield seed


def _line(told: dict[str, Any]) -> str:
    verdict = "VIOLATED" if told["violations"] else "held"
    seen = f"lost {told['lost']:<4} repeated {told['repeated']:<4}"
    history = f"{told['kills']} kills  {told['transactions']:>5} transactions  {told['seconds']:>5} s"
    return f"seed {told['seed']:<6} {told['pair']:18} {told['delivery']:14} {history}  {seen} {verdict}"


def say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


@dataclass
class _Crew:
    """Workers, each busy with one history; one that has played many is replaced."""

    size: int
    _answers: Queue[tuple[_Worker, dict[str, Any] | None]] = field(default_factory=Queue)
    _busy: list[_Worker] = field(default_factory=list)
    _free: list[_Worker] = field(default_factory=list)

    def play(self, seeds: Iterator[int]) -> Iterator[tuple[int, dict[str, Any]]]:
        """What comes of the histories, as they end; those that were begun are played to their end."""
        while self._at_work(seeds):
            try:
                worker, told = self._answers.get(timeout=_HISTORY_SECONDS)
            except Empty:
                yield self._busy[0].seed, {"error": f"no history ended for {_HISTORY_SECONDS} s"}
                return
            if worker not in self._busy:
                continue  # it was closed
            self._busy.remove(worker)
            if told is None or worker.played >= _HISTORIES_OF_A_WORKER:
                worker.close()
            else:
                self._free.append(worker)
            yield worker.seed, told or {"error": "the worker is gone"}

    def _at_work(self, seeds: Iterator[int]) -> bool:
        while len(self._busy) < self.size and (seed := next(seeds, None)) is not None:
            worker = self._free.pop() if self._free else _Worker(self._answers)
            self._busy.append(worker)
            worker.play(seed)
        return bool(self._busy)

    def close(self) -> None:
        for worker in (*self._busy, *self._free):
            worker.close()


class _Worker:
    def __init__(self, answers: Queue[tuple[_Worker, dict[str, Any] | None]]) -> None:
        self.seed, self.played = 0, 0
        self._answers = answers
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.kills.worker"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        Thread(target=self._listen, daemon=True).start()

    def play(self, seed: int) -> None:
        assert self._process.stdin is not None
        self.seed, self.played = seed, self.played + 1
        self._process.stdin.write(f"{seed}\n")
        self._process.stdin.flush()

    def close(self) -> None:
        """In order if it is free; one that is busy is ended, and its servers with it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.terminate()
            self._process.wait()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put((self, json.loads(line)))
        self._answers.put((self, None))


if __name__ == "__main__":
    sys.exit(main())
