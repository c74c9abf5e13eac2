"""Whether a target is what its delivery promised, by the writer's own record. Knows no Tieout.

From each row that is not as it should be follows which transactions must have been lost, or applied again. At-most-once
may lose one batch for each kill, at-least-once may repeat one in tables without a key; exactly-once neither. A batch is
a run of transactions, no longer than a batch may be, and begun before the kill that it is blamed on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.faults.kills.record import BEFORE, KEYS, Key, Record, Row, Step, key_of

_LISTED = 5

Contents = Mapping[str, Counter[Row]]


@dataclass
class Judgement:
    """`lost` and `repeated` are transactions; `violations` are broken promises, in words."""

    lost: set[int] = field(default_factory=set)
    repeated: set[int] = field(default_factory=set)
    violations: list[str] = field(default_factory=list)


def judge(
    record: Record, delivery: str, kills: Sequence[float], source: Contents, target: Contents, batch: int | None
) -> Judgement:
    """`kills` are the moments at which movers died, `batch` is how long a batch can be in the log; None: any length."""
    found = Judgement()
    for table in record.tables:
        if source[table] != record.now(table):
            found.violations.append(f"{table}: the source is not what its writer made of it: the record is wrong")
    for table in KEYS:
        _of_table(table, record.histories[table], target[table], found, again=delivery == "at-least-once")
    _of_copies(record, target["copies"], found, exact=delivery == "exactly-once")
    if BEFORE in found.lost:
        found.violations.append("rows were lost that were there before the mover began: chunks are copied exactly once")
    found.violations += _broken(found, delivery, record.steps, kills, batch)
    return found


def _of_table(
    table: str,
    histories: Mapping[Key, list[tuple[int, Row | None]]],
    target: Counter[Row],
    found: Judgement,
    *,
    again: bool,
) -> None:
    """`again`: what is there too often was applied again, and its deletion was not lost."""
    there: dict[Key, list[Row]] = {}
    for row in target.elements():
        there.setdefault(key_of(table, row), []).append(row)
    for key in there.keys() - histories.keys():
        found.violations.append(f"{table}: a row that the source never had: {there[key][0]}")
    for key, history in histories.items():
        rows = there.get(key, [])
        if KEYS[table] is not None and len(rows) > 1:
            found.violations.append(f"{table}: two rows have the key {key}")
        elif KEYS[table] is None and (len(rows) > 1 or (again and rows and history[-1][1] is None)):
            found.repeated.add(next(number for number, row in history if row is not None))
        else:
            _of_row(table, history, rows[0] if rows else None, found)


def _of_row(table: str, history: list[tuple[int, Row | None]], there: Row | None, found: Judgement) -> None:
    places = [place for place, (_, row) in enumerate(history) if row == there]
    if not places:
        found.violations.append(f"{table}: the source never had {there}, at its key it had {history[-1][1]}")
    else:
        found.lost |= {number for number, _ in history[places[-1] + 1 :]}


def _of_copies(record: Record, target: Counter[Row], found: Judgement, *, exact: bool) -> None:
    """A deletion that is repeated takes a copy that should stay, so copies are counted under exactly-once alone."""
    if exact and target != +record.copies:
        differ = sorted((target - record.copies) + (record.copies - target))
        found.violations.append(f"copies: other numbers of {_some(differ)}")
    if unknown := sorted(target.keys() - record.ever):
        found.violations.append(f"copies: rows that the source never had: {_some(unknown)}")


def _broken(
    found: Judgement, delivery: str, steps: Sequence[Step], kills: Sequence[float], batch: int | None
) -> Iterable[str]:
    for numbers, words, allowed in (
        (found.lost, "were lost", "at-most-once"),
        (found.repeated, "were applied again", "at-least-once"),
    ):
        if numbers and delivery != allowed:
            yield f"transactions {_some(sorted(numbers))} {words}, and the delivery is {delivery}"
        elif beyond := beyond_batches([step for step in steps if step.number in numbers], kills, batch):
            yield f"transactions {_some(beyond)} {words}, which is more than one batch for each kill"


def beyond_batches(steps: Sequence[Step], kills: Sequence[float], batch: int | None) -> list[int]:
    """The transactions that are left when each kill is given the first batch that it can be blamed for."""
    left = sorted(steps, key=lambda step: step.number)
    for killed in sorted(kills):
        if left and left[0].asked <= killed:
            first = left[0].position
            left = [
                step for step in left if step.asked > killed or (batch is not None and step.position - first > batch)
            ]
    return [step.number for step in left]


def _some(numbers: Sequence[object]) -> str:
    more = f" and {len(numbers) - _LISTED} more" if len(numbers) > _LISTED else ""
    return ", ".join(map(str, numbers[:_LISTED])) + more
