"""Steps of one table in one transaction: look, say what will be done, do it, commit."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tieout.connectors.writing import Refused, TryAgain, Writer
from tieout.meta import ChangeAction
from tieout.repair.from_differences.looking import on_target
from tieout.repair.from_differences.steps import Look, Step

ATTEMPTS = 3
"""How often a transaction is begun that has to give way to others."""


class End(StrEnum):
    DONE = "done"
    ALREADY = "already"
    """It was as the step would leave it."""
    CHANGED = "changed"
    """It was neither as before nor as after: left alone."""
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Outcome:
    """`collides`: another row holds the unique value that this one is to have."""

    step: Step
    end: End
    message: str | None = None
    collides: bool = False


Intend = Callable[[Sequence[Step]], None]
"""Told which steps are about to be done, before they can be committed."""

Do = Callable[[Sequence[Step]], list[Outcome]]


def carry_out(writer: Writer, steps: Sequence[Step], intend: Intend) -> list[Outcome]:
    """Each step by itself: one that is refused leaves the others alone."""

    def one_by_one(ready: Sequence[Step]) -> list[Outcome]:
        return [_attempt(writer, step) for step in ready]

    try:
        return transact(writer, steps, intend, one_by_one)
    except Refused as refusal:
        # Refused at its end, a transaction does not say which step it was.
        if len(steps) == 1:
            return [_refused(steps[0], refusal)]
    return [outcome for step in steps for outcome in carry_out(writer, [step], intend)]


def transact(writer: Writer, steps: Sequence[Step], intend: Intend, do: Do, *, deferred: bool = False) -> list[Outcome]:
    """`do` with the steps whose rows, now locked, are as they should be; raises Refused if that can't be committed.

    Whatever is raised, nothing has been changed, except that a lost connection may hide a commit.
    """
    for attempt in range(ATTEMPTS):
        try:
            writer.begin(deferred=deferred)
            found = on_target(steps[0].table, writer, [step.key for step in steps], lock=True)
            looks = [(step, step.look(found)) for step in steps]
            ready = [step for step, look in looks if look is Look.READY]
            intend(ready)
            outcomes = [*_unready(looks), *(do(ready) if ready else [])]
            writer.commit()
        except TryAgain as contention:
            writer.rollback()
            if attempt == ATTEMPTS - 1:
                raise Refused(f"another transaction is in the way: {contention}") from None
            time.sleep(0.1 * 2**attempt)
        except BaseException:
            writer.rollback()
            raise
        else:
            return outcomes
    raise AssertionError("the last attempt returns or raises")


def _unready(looks: Sequence[tuple[Step, Look]]) -> list[Outcome]:
    ends = {Look.DONE: End.ALREADY, Look.CHANGED: End.CHANGED}
    return [Outcome(step, ends[look]) for step, look in looks if look is not Look.READY]


def _attempt(writer: Writer, step: Step) -> Outcome:
    try:
        changed = writer.execute(step.statement(writer.statements))
    except Refused as refusal:
        return _refused(step, refusal)
    if changed > 1:
        # Of no use to say so and go on: the transaction has changed rows that it must not.
        raise Refused(f"{changed} rows have this key: it is not unique")
    if changed == 1:
        return Outcome(step, End.DONE)
    deleted = step.action is ChangeAction.DELETE
    return Outcome(step, End.REFUSED, not_deleted(step) if deleted else "the engine changed no row")


def not_deleted(step: Step) -> str:
    """Why a row that was there, and locked, was not deleted: the statement looks for rows that refer to it."""
    names = ", ".join(f"{r.child} ({r.name}, ON DELETE {r.on_delete})" for r in step.table.losing)
    return f"rows that refer to it would be lost with it: {names}" if names else "the engine deleted no row"


def _refused(step: Step, refusal: Refused) -> Outcome:
    return Outcome(step, End.REFUSED, refusal.message, refusal.collides)
