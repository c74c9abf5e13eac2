"""A plan's changes, carried out in passes: what is refused in one may find its way free in the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from tieout.meta import ChangeAction, ChangeOutcome, ChangeState, MetaStore, RepairChange, RepairPlan
from tieout.meta.batches import in_batches
from tieout.model.redaction import without_values
from tieout.repair.from_differences.exchange import exchange
from tieout.repair.from_differences.looking import on_target
from tieout.repair.from_differences.sides import Sides
from tieout.repair.from_differences.steps import Look, Step
from tieout.repair.transaction import End, Outcome, carry_out

IN_FLIGHT = "being written"
"""The message of a planned change from before it can be committed until what became of it is recorded."""


@dataclass(frozen=True, slots=True)
class Direction:
    """Which changes are taken up, and what each end makes of them: a state and a message (None: the engine's)."""

    word: str
    backwards: bool
    takes: ChangeState
    ends: dict[End, tuple[ChangeState, str | None]]


FORWARDS = Direction(
    "apply",
    False,
    ChangeState.PLANNED,
    {
        End.DONE: (ChangeState.APPLIED, None),
        End.ALREADY: (ChangeState.SKIPPED, "the target's row was already as it should be"),
        End.CHANGED: (ChangeState.SKIPPED, "the target's row has changed since the plan was made"),
        End.REFUSED: (ChangeState.PLANNED, None),
    },
)

BACKWARDS = Direction(
    "undo",
    True,
    ChangeState.APPLIED,
    {
        End.DONE: (ChangeState.UNDONE, None),
        End.ALREADY: (ChangeState.UNDONE, "the target's row was already as before"),
        End.CHANGED: (ChangeState.APPLIED, "not undone: the target's row has changed since the repair"),
        End.REFUSED: (ChangeState.APPLIED, None),
    },
)


@dataclass
class Passes:
    """`between` is called after every transaction with how many changes were settled; it may raise to stop."""

    store: MetaStore
    plan: RepairPlan
    sides: Sides
    direction: Direction
    batch: int
    between: Callable[[str, int], None]
    settled: int = 0
    left: Counter[End] = field(default_factory=Counter)

    def run(self) -> None:
        """Passes in alternating directions (a row of values that each move on by one ends with the second), until
        none moves anything. `left` then counts what was refused or found changed in the last one."""
        reverse = self.direction.backwards
        while True:
            before, collided = self.settled, self._pass(reverse)
            if not self.left[End.REFUSED]:
                return
            if self.settled == before and not self._exchange(collided):
                return
            reverse = not reverse

    def _pass(self, reverse: bool) -> list[Step]:
        """Returns the updates that another row's unique value stands in the way of."""
        self.left.clear()
        collided: list[Step] = []
        for steps in self._batches(reverse):
            outcomes = carry_out(self.sides.writer, steps, self._intend)
            self._record(outcomes)
            self.left.update(o.end for o in outcomes if self.direction.ends[o.end][0] is self.direction.takes)
            collided += [o.step for o in outcomes if o.collides and o.step.action is ChangeAction.UPDATE]
            self.between(steps[0].table.name, self.settled)
        return collided

    def _exchange(self, collided: Sequence[Step]) -> bool:
        before = self.settled
        for _, of_table in groupby(collided, key=lambda step: step.table.name):
            for outcomes in exchange(self.sides.writer, list(of_table), self._intend):
                self._record(outcomes)
        return self.settled > before

    def _batches(self, reverse: bool) -> Iterator[list[Step]]:
        changes = self.store.repairs.changes(self.plan.id, state=self.direction.takes, newest_first=reverse)
        for name, of_table in groupby(changes, key=lambda change: change.table):
            table = self.sides.tables.get(name)
            if table is None:
                self._without_table(name, of_table)
                continue
            steps = (Step(table, change, self.direction.backwards) for change in of_table)
            yield from in_batches(steps, self.batch, lambda step: step.change.size)

    def _without_table(self, name: str, changes: Iterator[RepairChange]) -> None:
        reason = self.sides.refused.get(name, "the table is not there any more")
        for change in changes:
            self.left[End.CHANGED] += 1
            state = ChangeState.FAILED if self.direction is FORWARDS else ChangeState.APPLIED
            self.store.repairs.record(self.plan.id, [ChangeOutcome(change.sequence, state, reason)])

    def _intend(self, steps: Sequence[Step]) -> None:
        """Kept before the target can commit: after a crash, these are looked at, and the others were not touched."""
        if self.direction is FORWARDS and steps:
            flying = [ChangeOutcome(s.change.sequence, ChangeState.PLANNED, IN_FLIGHT) for s in steps]
            self.store.repairs.record(self.plan.id, flying)

    def _record(self, outcomes: Sequence[Outcome]) -> None:
        recorded = []
        for outcome in outcomes:
            state, message = self.direction.ends[outcome.end]
            said = message or outcome.message
            if said is not None and self.sides.redacts:
                said = without_values(said)
            recorded.append(ChangeOutcome(outcome.step.change.sequence, state, said))
            if state is not self.direction.takes:
                self.settled += 1
        self.store.repairs.record(self.plan.id, recorded)


def settle_in_flight(store: MetaStore, plan: RepairPlan, sides: Sides) -> None:
    """Finds out, after a crash, which changes were committed before that could be recorded."""
    planned = store.repairs.changes(plan.id, state=ChangeState.PLANNED)
    for change in (each for each in planned if each.message == IN_FLIGHT):
        table = sides.tables.get(change.table)
        if table is None:
            continue
        step = Step(table, change)
        if step.look(on_target(table, sides.writer, [step.key])) is Look.DONE:
            store.repairs.record(plan.id, [ChangeOutcome(change.sequence, ChangeState.APPLIED)])
