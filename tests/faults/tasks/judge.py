"""Whether a target is what the delivery of a task promised. Knows no Tieout.

A table that has to equal is compared as a multiset. Where a batch may be lost, or applied again, each row of the
target is found in the history of its row: from that follows which transactions must have been lost or repeated there,
and which were not. At most one batch for each kill: a run of transactions in the order of the log, without a gap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from tests.faults.kills.judge import beyond_batches
from tests.faults.tasks.interpreter import Image, expected, image, key_of
from tests.faults.tasks.task import STAMP, Entry, Task
from tests.faults.tasks.writer import Record, Row

_LISTED = 6


@dataclass
class Marks:
    """Transactions of one lane: those that certainly were lost (or applied again), and that certainly were not."""

    broken: set[int] = field(default_factory=set)
    whole: set[int] = field(default_factory=set)


@dataclass
class Judgement:
    lost: set[int] = field(default_factory=set)
    repeated: set[int] = field(default_factory=set)
    violations: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Evidence:
    """What a history left. `kills` are moments at which movers died or lost a connection, `copied` is the last
    transaction that a chunk may hold, `batch` is how long a batch can be in the log; None: any length.
    """

    record: Record
    kills: Sequence[float]
    copied: int
    schema: str
    source: Mapping[str, list[Row]]
    target: Mapping[str, Counter[Image]]
    batch: int | None


def judge(task: Task, seen: Evidence) -> Judgement:
    found = Judgement()
    for table, rows in seen.source.items():
        there, recorded = _counted(rows), _counted(seen.record.now(table))
        if there != recorded:
            differ = f"it has {_some(there - recorded)} instead of {_some(recorded - there)}"
            found.violations.append(f"{table}: the record of the writer is wrong, {differ}")
    wanted = expected(task, seen.schema, seen.source)
    for entry in task.entries:
        if task.delivery == "exactly-once" or (task.delivery == "at-least-once" and entry.key):
            found.violations += _differing(entry, wanted[entry.target], seen.target[entry.target])
        else:
            found.violations += _unknown(entry, seen)
    if task.delivery != "exactly-once" and not found.violations:
        lanes = _lanes(task, seen)
        found.violations += _broken(task, seen, lanes, found)
    return found


def _counted(rows: Sequence[Row]) -> Counter[tuple[tuple[str, Any], ...]]:
    return Counter(tuple(sorted(row.items())) for row in rows)


def _differing(entry: Entry, wanted: Counter[Image], there: Counter[Image]) -> list[str]:
    missing, extra = wanted - there, there - wanted
    if not missing and not extra:
        return []
    named = ", ".join(column.name for column in entry.target_columns)
    return [
        f"{entry.target} ({named}): it lacks {missing.total()} of {wanted.total()} rows ({_some(missing)}),"
        f" and has {extra.total()} that should not be there ({_some(extra)})"
    ]


def _unknown(entry: Entry, seen: Evidence) -> list[str]:
    """Rows that the source never had, and keys that are there twice."""
    ever = {
        image(entry, seen.schema, table, row)
        for (table, _), history in seen.record.histories.items()
        if table in entry.tables
        for _, row in history
        if row is not None
    }
    there = seen.target[entry.target]
    strange = [row for row in there if row not in ever]
    keys = Counter(key_of(entry, row) for row in there.elements()) if entry.key else Counter()
    twice = [key for key, count in keys.items() if count > 1]
    return [
        *([f"{entry.target}: rows that the source never had: {_some(strange)}"] if strange else []),
        *([f"{entry.target}: keys that are there twice: {_some(twice)}"] if twice else []),
    ]


def _lanes(task: Task, seen: Evidence) -> dict[Any, Marks]:
    """What is certain about each lane: of the task, of each table, or of each row."""
    lanes: dict[Any, Marks] = {}
    of_table = {table: entry for entry in task.entries for table in entry.tables}
    there = {entry.target: _by_identity(entry, seen.target[entry.target]) for entry in task.entries}
    for (table, key), history in seen.record.histories.items():
        entry = of_table[table]
        if task.delivery == "at-least-once" and entry.key:
            continue
        lane = {"transaction": None, "table": table, "row": (table, key)}[task.consistency]
        marks = lanes.setdefault(lane, Marks())
        images = [(number, row and image(entry, seen.schema, table, row)) for number, row in history]
        known = next((row for _, row in images if row is not None), None)
        if known is None:
            continue
        rows = there[entry.target].get(_identity(entry, known), [])
        if task.delivery == "at-least-once":
            _repeated(images, rows, marks)
        else:
            _lost(images, rows, marks)
    return lanes


def _by_identity(entry: Entry, rows: Counter[Image]) -> dict[Any, list[Image]]:
    found: dict[Any, list[Image]] = {}
    for row in rows.elements():
        found.setdefault(_identity(entry, row), []).append(row)
    return found


def _identity(entry: Entry, row: Image) -> Any:
    """A row's key, or its number."""
    if entry.key:
        return key_of(entry, row)
    return row[[column.name for column in entry.target_columns].index(STAMP)]


def _lost(images: list[tuple[int, Image | None]], rows: list[Image], marks: Marks) -> None:
    """From the last transaction on that made the row what it is, all were lost that made something else of it."""
    if len(rows) > 1:
        marks.broken.add(-1)  # at-most-once repeats nothing
        return
    there = rows[0] if rows else None
    places = [place for place, (_, row) in enumerate(images) if row == there]
    if not places:
        marks.broken.add(-1)
        return
    marks.broken |= {number for number, _ in images[places[-1] + 1 :]}
    (place, *more) = places
    if not more and place:
        marks.whole.add(images[place][0])


def _repeated(images: list[tuple[int, Image | None]], rows: list[Image], marks: Marks) -> None:
    """A row without a key: it came once, and may be gone."""
    came = next(number for number, row in images if row is not None)
    gone = images[-1][1] is None
    if not gone and not rows:
        marks.broken.add(-1)  # at-least-once loses nothing
    elif len(rows) > 1 or (gone and rows):
        marks.broken.add(came)
    elif not gone:
        marks.whole.add(came)


def _broken(task: Task, seen: Evidence, lanes: Mapping[Any, Marks], found: Judgement) -> list[str]:
    words = "applied again" if task.delivery == "at-least-once" else "lost"
    steps = {step.number: step for step in seen.record.steps}
    said = []
    for lane, marks in lanes.items():
        (found.repeated if task.delivery == "at-least-once" else found.lost).update(marks.broken)
        name = "" if lane is None else f"{lane}: "
        whole = {number for number in marks.whole if number > seen.copied}
        if -1 in marks.broken:
            kind = "lost" if task.delivery == "at-least-once" else "doubled"
            said.append(f"{name}a row was {kind}, and the delivery is {task.delivery}")
        if half := marks.broken & whole:
            said.append(f"{name}transactions {_some(sorted(half))} were {words} in part")
        if early := [number for number in marks.broken if 0 <= number < seen.record.steps[0].number]:
            said.append(f"{name}rows were {words} that were there before the mover began: {_some(early)}")
        marked = sorted(marks.broken | whole)
        runs = [list(run) for broken, run in groupby(marked, marks.broken.__contains__) if broken]
        if len(runs) > len(seen.kills):
            said.append(f"{name}{len(runs)} runs of transactions were {words} by {len(seen.kills)} kills: {runs}")
        broken = [steps[number] for number in marks.broken if number in steps]
        if beyond := beyond_batches(broken, seen.kills, seen.batch):
            said.append(f"{name}transactions {_some(beyond)} were {words}: more than one batch for each kill")
    return said


def _some(items: Any) -> str:
    listed = list(items)
    more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
    return ", ".join(map(str, listed[:_LISTED])) + more
