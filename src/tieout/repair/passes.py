"""A plan's changes, carried out in passes: what is refused in one may find its way free in the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tieout.meta import ChangeOutcome, ChangeState, MetaStore, RepairChange, RepairPlan
from tieout.model.redaction import without_values
from tieout.repair.transaction import End


@dataclass(frozen=True, slots=True)
class Direction:
    """Which changes are taken up, and the state that each end gives them; without one, they stay as they are."""

    word: str
    backwards: bool
    takes: tuple[ChangeState, ...]
    ends: Mapping[End, ChangeState]


FORWARDS = Direction(
    "apply",
    False,
    (ChangeState.PLANNED,),
    {End.DONE: ChangeState.APPLIED, End.ALREADY: ChangeState.SKIPPED, End.CHANGED: ChangeState.SKIPPED},
)

BACKWARDS = Direction(
    "undo", True, (ChangeState.APPLIED,), {End.DONE: ChangeState.UNDONE, End.ALREADY: ChangeState.UNDONE}
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a change, and why. `collides`: another row holds the unique value that this one is to have."""

    change: RepairChange
    end: End
    message: str | None = None
    collides: bool = False


class Worker(Protocol):
    """Carries out changes in transactions. `alternates`: every other pass is better made from the other end."""

    alternates: bool

    def attempt(self, changes: Iterator[RepairChange]) -> Iterator[Sequence[Outcome]]:
        """One pass: what became of the changes, transaction by transaction."""

    def unblock(self) -> Iterator[Sequence[Outcome]]:
        """After a pass that moved nothing: what else could be tried with those that were refused."""


@dataclass
class Passes:
    """`between` is told after every transaction which table it was of and how many changes are settled; it may raise to
    stop. `redacts`: messages are kept without values of rows.
    """

    store: MetaStore
    plan: RepairPlan
    direction: Direction
    worker: Worker
    between: Callable[[str, int], None]
    redacts: bool = False
    settled: int = 0
    left: Counter[End] = field(default_factory=Counter)
    """The ends, in the last pass, of changes that stay as they are."""

    def run(self) -> None:
        """Until a pass leaves nothing, or moves nothing."""
        reverse = self.direction.backwards
        while True:
            before = self.settled
            self.left.clear()
            self._record_all(self.worker.attempt(self._changes(reverse)))
            if not self.left.total() - self.left[End.KEPT]:
                return
            if self.settled == before:
                self._record_all(self.worker.unblock())
                if self.settled == before:
                    return
            reverse = reverse != self.worker.alternates

    def _changes(self, reverse: bool) -> Iterator[RepairChange]:
        takes = self.direction.takes
        state = takes[0] if len(takes) == 1 else None
        changes = self.store.repairs.changes(self.plan.id, state=state, newest_first=reverse)
        return (change for change in changes if change.state in takes)

    def _record_all(self, transactions: Iterator[Sequence[Outcome]]) -> None:
        for outcomes in transactions:
            if outcomes:
                self.store.repairs.record(self.plan.id, [self._recorded(outcome) for outcome in outcomes])
                self.between(outcomes[0].change.table, self.settled)

    def _recorded(self, outcome: Outcome) -> ChangeOutcome:
        state = self.direction.ends.get(outcome.end)
        if state is None:
            self.left[outcome.end] += 1
        else:
            self.settled += 1
        message = without_values(outcome.message) if outcome.message and self.redacts else outcome.message
        return ChangeOutcome(outcome.change.sequence, state or outcome.change.state, message)
