"""Plays a task: its source is written to, movers are killed one after another, and a judge looks at the end."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.faults.kills.movers import Ended, Hooks, Kill, Movers
from tests.faults.kills.places import Place, Servers
from tests.faults.tasks.databases import create_sources, create_targets, schema_of, source_rows, target_rows
from tests.faults.tasks.judge import Evidence, Judgement, judge
from tests.faults.tasks.task import Task
from tests.faults.tasks.writer import Writer

_CATCH_UP_SECONDS = 150.0
_MOST_TIMES, _LONGEST_TRANSACTION = 32, 400_000
"""A mover that has time makes its batches so many times as long as was asked for, beside one transaction."""
_NEVER = 1 << 60


@dataclass
class Played:
    """What came of a task. `source` and `target` are there until the block of `played` ends."""

    task: Task
    source: Place
    target: Place
    asked: dict[str, Any]
    judgement: Judgement = field(default_factory=Judgement)
    killed: list[float] = field(default_factory=list)
    cuts: list[float] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    transactions: int = 0
    moved: int = 0
    seconds: float = 0.0

    @property
    def violations(self) -> list[str]:
        return self.judgement.violations

    def __str__(self) -> str:
        task, judged = self.task, self.judgement
        return (
            f"{task.name} {task.pair} {task.delivery} {task.consistency}: {len(self.killed)} kills"
            f" ({', '.join(self.places)}), {len(self.cuts)} cuts, {self.transactions} transactions, {self.moved} rows,"
            f" lost {len(judged.lost)}, repeated {len(judged.repeated)}, {self.seconds:.1f} s"
        )


@contextmanager
def played(task: Task, servers: Servers, movers: Movers, directory: Path) -> Iterator[Played]:
    """Plays it in an empty directory of its own."""
    began = time.monotonic()
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    with ExitStack() as stack:
        source, target = stack.enter_context(servers.places(task.pair, directory, wal=task.wal))
        for place, zone in ((source, "Asia/Kolkata"), (target, "America/St_Johns")):
            if place.engine == "postgres":
                place.server.set_time_zone(place.name, zone)
        create_sources(source, task)
        create_targets(target, task)
        asked = {
            "task": task.name,
            "source": source.url,
            "target": target.url,
            "meta": f"sqlite:///{directory}/meta.db",
            "tables": [entry.asked() for entry in task.entries],
            "delivery": task.delivery,
            "consistency": task.consistency,
            "target_level": task.target_level,
            "options": {**task.options, "poll_seconds": 0.05},
        }
        outcome = Played(task, source, target, asked)
        _play(outcome, movers)
        outcome.seconds = time.monotonic() - began
        yield outcome


def _play(outcome: Played, movers: Movers) -> None:
    task, source, target = outcome.task, outcome.source, outcome.target
    writer = Writer(source, task)
    copied = [_NEVER]

    def follows() -> None:
        copied[0] = min(copied[0], writer.number)
        writer.may_empty.set()

    def cut(side: str) -> None:
        outcome.cuts.append(time.monotonic())
        (source if side == "source" else target).cut(spared=writer.session)

    def run(kill: Kill | None) -> Ended:
        ended = movers.run(outcome.asked, kill, Hooks(follows, cut), _CATCH_UP_SECONDS)
        if ended.killed and not ended.stuck:
            outcome.killed.append(ended.at)
            outcome.places.append(ended.place or "a moment")
        return ended

    writer.start()
    try:
        for kill in task.kills:
            ended = run(kill)
            if not ended.killed or ended.stuck:
                how = "did not get as far as to follow the log" if ended.stuck else "ended by itself"
                outcome.violations.append(f"a mover that was to be killed {how}: {_last(ended)}")
                break
    finally:
        writer.stop()
    if not outcome.violations:
        _catch_up(run(None), outcome)
    outcome.transactions = len(writer.record.steps)
    if outcome.violations:  # it did not get to the end: what is missing says nothing
        return
    there = target_rows(target, task)
    outcome.moved = sum(rows.total() for rows in there.values())
    # A mover that loses its connections does not know what became of the batch that it was at, either.
    moments = sorted([*outcome.killed, *outcome.cuts])
    longest = None if source.engine == "sqlite" else task.batch_bytes * _MOST_TIMES + _LONGEST_TRANSACTION
    outcome.judgement = judge(
        task,
        Evidence(writer.record, moments, copied[0], schema_of(source), source_rows(source, task), there, longest),
    )


def _catch_up(last: Ended, outcome: Played) -> None:
    if last.code != 0:
        took = f" in {_CATCH_UP_SECONDS:.0f} s" if last.stuck else ""
        outcome.violations.append(f"the last mover did not catch up{took}: {_last(last)}")
    elif last.status is not None:
        stopped = [f"{table['source']}: {table['stopped']}" for table in last.status["tables"] if table["stopped"]]
        outcome.violations.extend(f"a table was given up: {each}" for each in stopped)


def _last(ended: Ended) -> str:
    lines = [line for line in ended.words.splitlines() if line.strip()]
    return "\n".join(lines[-4:])[-1500:] or "(no words)"
