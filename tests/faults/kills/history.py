"""One history: a source that is written to, movers that are killed one after another, and a judge at the end."""

from __future__ import annotations

import random
import shutil
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.faults.kills.judge import Contents, Judgement, judge
from tests.faults.kills.movers import Ended, Hooks, Kill, Movers, failpoints
from tests.faults.kills.places import PAIRS, Servers
from tests.faults.kills.record import Record
from tests.faults.kills.watcher import Watcher
from tests.faults.kills.writer import TABLES, Writer

DELIVERIES = ("exactly-once", "at-least-once", "at-most-once")
CONSISTENCIES = ("row", "table", "transaction")
A_MOMENT = "a moment"
"""Where a mover was killed that was not killed at a named place."""

_MOST_TIMES = 32
"""A mover that has time makes its batches so many times as long as was asked for, and no longer."""
_LONGEST_TRANSACTION = 200_000
_CATCH_UP_SECONDS = 150.0
_COPYING = ("while-planning", "chunk-")
"""How places are named that a mover hardly reaches again, once it has copied all chunks."""
_WEIGHTS = {"after-copy": 1, "after-switch": 1, "before-read": 1, "after-read": 1, "before-commit": 6, "after-merge": 6}
"""How often movers are killed at a place, 3 unless given: less where nothing is half done, more where it is."""


@dataclass(frozen=True)
class Plan:
    """All that is chosen before a history begins. `made`: the mover makes the target's tables."""

    seed: int
    pair: str
    delivery: str
    kills: tuple[Kill, ...]
    batch_bytes: int = 50_000
    chunk_rows: int = 100
    made: bool = True
    wal: bool = False
    consistency: str = "transaction"

    @classmethod
    def of(cls, seed: int, pairs: tuple[str, ...] = tuple(PAIRS), deliveries: tuple[str, ...] = DELIVERIES) -> Plan:
        """The same plan for the same seed. Pairs and deliveries take turns, so that each comes with each."""
        chance = random.Random(seed)
        return cls(
            seed,
            pairs[seed % len(pairs)],
            deliveries[seed // len(pairs) % len(deliveries)],
            tuple(_kill(chance, first=number == 0) for number in range(chance.randint(3, 6))),
            chance.choice((2_000, 10_000, 50_000, 200_000)),
            chance.choice((50, 100, 300)),
            chance.random() < 0.5,
            chance.random() < 0.5,
            chance.choice(CONSISTENCIES),
        )

    @property
    def batch(self) -> int | None:
        """How long a batch can be in the log; in SQLite's it is all that there is."""
        return None if self.pair.startswith("sqlite") else self.batch_bytes * _MOST_TIMES + _LONGEST_TRANSACTION


def _kill(chance: random.Random, *, first: bool) -> Kill:
    workers = chance.random() < 0.3
    what = chance.random()
    if what < 0.15:
        return Kill(chance.uniform(0.0, 4.0), workers=workers)
    if what < 0.3:
        return Kill(chance.uniform(0.0, 2.5), following=True, workers=workers)
    if what < 0.4:
        return Kill(chance.uniform(1.0, 4.0), following=True, workers=workers, cut=chance.choice(("source", "target")))
    places = [place for place in failpoints() if first or not place.startswith(_COPYING)]
    (place,) = chance.choices(places, [_WEIGHTS.get(place, 3) for place in places])
    delay = chance.uniform(0.0, 0.3) if chance.random() < 0.4 else None
    times = chance.choice((1, 1, 2, 3, 5))
    return Kill(4.0, place=place, times=times, delay=delay, workers=workers)


@dataclass
class Outcome:
    """What came of a history."""

    plan: Plan
    judgement: Judgement = field(default_factory=Judgement)
    killed: list[float] = field(default_factory=list)
    cuts: list[float] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    transactions: int = 0
    looks: int = 0
    seconds: float = 0.0
    evidence: dict[str, Any] = field(default_factory=dict)

    @property
    def violations(self) -> list[str]:
        return self.judgement.violations

    def document(self) -> dict[str, Any]:
        """A line of a ledger."""
        return {
            "seed": self.plan.seed,
            "pair": self.plan.pair,
            "delivery": self.plan.delivery,
            "kills": len(self.killed),
            "cuts": len(self.cuts),
            "places": self.places,
            "transactions": self.transactions,
            "looks": self.looks,
            "lost": len(self.judgement.lost),
            "repeated": len(self.judgement.repeated),
            "violations": self.violations,
            "seconds": round(self.seconds, 1),
        }


def play(plan: Plan, servers: Servers, movers: Movers, directory: Path) -> Outcome:
    """Plays a history in an empty directory of its own."""
    began, outcome = time.monotonic(), Outcome(plan)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    with servers.places(plan.pair, directory, wal=plan.wal) as (source, target):
        source.create()
        if not plan.made:
            target.create()
        # PostgreSQL fills a file of its log before it begins another: that is many short batches.
        rotates = source.engine != "postgres" or plan.batch_bytes >= 200_000
        writer = Writer(source, plan.seed, rotates)
        asked = {
            "task": f"killed-{plan.seed}",
            "source": source.url,
            "target": target.url,
            "meta": f"sqlite:///{directory}/meta.db",
            "tables": list(TABLES),
            "delivery": plan.delivery,
            "consistency": plan.consistency,
            "options": {"chunk_rows": plan.chunk_rows, "batch_bytes": plan.batch_bytes, "poll_seconds": 0.05},
        }
        ends: list[Ended] = []

        def cut(side: str) -> None:
            outcome.cuts.append(time.monotonic())
            (source if side == "source" else target).cut(spared=writer.session)

        def run(kill: Kill | None) -> Ended:
            ended = movers.run(asked, kill, Hooks(writer.may_empty.set, cut), _CATCH_UP_SECONDS)
            ends.append(ended)
            if ended.killed and not ended.stuck:
                outcome.killed.append(ended.at)
                outcome.places.append(ended.place or A_MOMENT)
            return ended

        watcher = Watcher(target)
        with watcher.watching():
            writer.start()
            try:
                for kill in plan.kills:
                    ended = run(kill)
                    if not ended.killed or ended.stuck:
                        how = "did not get as far as to follow the log" if ended.stuck else "ended by itself"
                        outcome.violations.append(f"a mover that was to be killed {how}: {_last(ended.words)}")
                        break
            finally:
                writer.stop()
            if not outcome.violations:
                _catch_up(run(None), outcome)
        _judged(outcome, writer.record, source.contents(), target.contents())
        outcome.violations.extend(watcher.violations)
        outcome.transactions, outcome.looks = len(writer.record.steps), watcher.looks
        outcome.seconds = time.monotonic() - began
        if outcome.violations:
            outcome.evidence = _evidence(outcome, writer.record, ends, source.contents(), target.contents())
    return outcome


def _catch_up(last: Ended, outcome: Outcome) -> None:
    if last.code != 0:
        took = f" in {_CATCH_UP_SECONDS:.0f} s" if last.stuck else ""
        outcome.violations.append(f"the last mover did not catch up{took}: {_last(last.words)}")
    elif last.status is not None:
        stopped = [f"{table['source']}: {table['stopped']}" for table in last.status["tables"] if table["stopped"]]
        outcome.violations.extend(f"a table was given up: {each}" for each in stopped)


def _judged(outcome: Outcome, record: Record, source: Contents, target: Contents) -> None:
    if outcome.violations:  # it did not get to the end: what is missing says nothing
        return
    # A mover that loses its connections does not know what became of the batch that it was at, either.
    moments = sorted([*outcome.killed, *outcome.cuts])
    outcome.judgement = judge(record, outcome.plan.delivery, moments, source, target, outcome.plan.batch)


def _last(words: str) -> str:
    lines = [line for line in words.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "(no words)"


def _evidence(
    outcome: Outcome, record: Record, ends: list[Ended], source: Contents, target: Contents
) -> dict[str, Any]:
    """All that is needed to find out later what happened."""
    return {
        "plan": asdict(outcome.plan),
        "violations": outcome.violations,
        "cuts": outcome.cuts,
        "ends": [{"code": ended.code, "at": ended.at, "words": ended.words[-4000:]} for ended in ends],
        "steps": [asdict(step) for step in record.steps],
        "histories": {
            table: [[list(key), [[number, row] for number, row in history]] for key, history in histories.items()]
            for table, histories in record.histories.items()
        },
        "differences": {
            table: {
                "missing": sorted((source[table] - target[table]).elements()),
                "extra": sorted((target[table] - source[table]).elements()),
            }
            for table in source
        },
    }
