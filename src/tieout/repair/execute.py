"""Carries out a plan, whatever it repairs: as a job of the meta store, in passes, each change in a transaction.

Any terminal can see, pause and cancel the job. A change that is refused in one pass may succeed in the next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Protocol, TypeVar

import stamina

from tieout.connectors.protocols.repair import Refused, TryAgain, Writer
from tieout.errors import UsageError
from tieout.meta import ChangeOutcome, ChangeState, JobKind, JobState, MetaStore, RepairChange, RepairPlan, RepairState
from tieout.model.documents import repair_document
from tieout.model.progress_events import Listener, Progress
from tieout.model.redaction import without_values
from tieout.model.repair import RepairResult
from tieout.model.results import Verdict
from tieout.runtime import job as runtime
from tieout.runtime.control import JobControl

T = TypeVar("T")

ATTEMPTS = 3
"""How often to try a transaction that has to give way to others."""


class End(StrEnum):
    """What became of a change that the repair tried."""

    DONE = "done"
    ALREADY = "already"
    """The row was as the change would leave it."""
    CHANGED = "changed"
    """The row was neither as before nor as after: the repair leaves it alone."""
    REFUSED = "refused"
    """The engine, or other rows, do not allow it; later they may."""
    KEPT = "kept"
    """Undo leaves it: it loses no data."""


def in_transaction(
    writer: Writer, work: Callable[[], T], *, commits: Callable[[T], bool] = lambda _: True, deferred: bool = False
) -> T:
    """Returns what the work returns; commits if `commits` says so, else rolls back. Retries on a conflict.

    Refused if other transactions always get in the way. Whatever it raises, nothing has been changed, except that a
    lost connection may hide a commit. `deferred`: the engine checks deferrable constraints at the end.
    """
    retry = stamina.RetryingCaller(attempts=ATTEMPTS, wait_initial=0.1, wait_jitter=0.1)
    try:
        return retry(TryAgain, _once, writer, work, commits, deferred)
    except TryAgain as contention:
        raise Refused(f"another transaction is in the way: {contention}") from None


def _once(writer: Writer, work: Callable[[], T], commits: Callable[[T], bool], deferred: bool) -> T:
    try:
        writer.begin(deferred=deferred)
        done = work()
        if commits(done):
            writer.commit()
        else:
            writer.rollback()
    except BaseException:
        writer.rollback()
        raise
    return done


@dataclass(frozen=True, slots=True)
class Direction:
    """Which changes to try, and the state that each end gives them; without one, they keep their state."""

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
    """What became of a change, and why. `collides`: another row has the unique value that this one should get."""

    change: RepairChange
    end: End
    message: str | None = None
    collides: bool = False


class Worker(Protocol):
    """Carries out changes in transactions. `alternates`: every other pass should start from the other end."""

    alternates: bool

    def attempt(self, changes: Iterator[RepairChange]) -> Iterator[Sequence[Outcome]]:
        """One pass: what became of the changes, transaction by transaction."""

    def unblock(self) -> Iterator[Sequence[Outcome]]:
        """After a pass that changed nothing: tries something else with the refused changes."""


@dataclass
class Passes:
    """Runs passes over a plan's changes. After each transaction it calls `between` with the table and the number of
    changes that are done; `between` may raise to stop. `redacts`: store messages without values of rows.
    """

    store: MetaStore
    plan: RepairPlan
    direction: Direction
    worker: Worker
    between: Callable[[str, int], None]
    redacts: bool = False
    done: int = 0
    left: Counter[End] = field(default_factory=Counter)
    """How the changes ended that keep their state in the last pass."""

    def run(self) -> None:
        """Runs until a pass leaves nothing, or changes nothing."""
        reverse = self.direction.backwards
        while True:
            before = self.done
            self.left.clear()
            self._record_all(self.worker.attempt(self._changes(reverse)))
            if not self.left.total() - self.left[End.KEPT]:
                return
            if self.done == before:
                self._record_all(self.worker.unblock())
                if self.done == before:
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
                self.between(outcomes[0].change.table, self.done)

    def _recorded(self, outcome: Outcome) -> ChangeOutcome:
        state = self.direction.ends.get(outcome.end)
        if state is None:
            self.left[outcome.end] += 1
        else:
            self.done += 1
        message = without_values(outcome.message) if outcome.message and self.redacts else outcome.message
        return ChangeOutcome(outcome.change.sequence, state or outcome.change.state, message)


LISTED = 20
"""How many differences and messages a result lists."""


class Running:
    def __init__(self, store: MetaStore, plan: RepairPlan, direction: Direction, job_id: str) -> None:
        self._store = store
        self._plan = plan
        self._direction = direction
        self.job_id = job_id

    def between(self, listener: Listener) -> Callable[[str, int], None]:
        def report(table: str, done: int) -> None:
            listener(Progress(self._direction.word, table, done))
            JobControl(self._store.jobs, self.job_id).check()

        return report

    def finish(self, result: RepairResult) -> RepairResult:
        left = result.failed if self._direction is FORWARDS else result.failed + result.skipped
        if left:
            error = result.messages[0] if result.messages else None
            self._store.repairs.set_state(self._plan.id, RepairState.FAILED, error=error)
        else:
            done = RepairState.APPLIED if self._direction is FORWARDS else RepairState.UNDONE
            self._store.repairs.set_state(self._plan.id, done)
        verdict = None if result.different is None else Verdict.DIFFERENT if result.different else Verdict.EQUAL
        self._store.jobs.finish(self.job_id, verdict=verdict, result=repair_document(result))
        return result


@contextmanager
def running(
    store: MetaStore, plan: RepairPlan, direction: Direction, expected: tuple[RepairState, ...], state: RepairState
) -> Iterator[Running]:
    found_by = store.jobs.get(plan.job_id)
    for job in store.jobs.list(state=JobState.RUNNING, limit=1000):
        if job.kind is JobKind.REPAIR and job.request.get("plan") == plan.id:
            raise UsageError(f"process {job.pid} on {job.host} is working on plan {plan.id} (job {job.id})")
    store.repairs.set_state(plan.id, state, expected=expected)
    request = {"plan": plan.id, "action": direction.word}
    job = store.jobs.create(JobKind.REPAIR, source=found_by.source, target=found_by.target, request=request)

    def ended(how: JobState, error: str | None) -> None:
        """A stopped plan keeps its state: apply or undo goes on from there."""
        if how is JobState.FAILED:
            store.repairs.set_state(plan.id, RepairState.FAILED, error=error)

    with runtime.running(store.jobs, job.id, ended):
        yield Running(store, plan, direction, job.id)


def restate(store: MetaStore, plan: RepairPlan, before: ChangeState, after: ChangeState) -> None:
    """Moves all changes from one state to another; keeps their messages."""
    changes = store.repairs.changes(plan.id, state=before, rows=False)
    while part := list(islice(changes, 500)):
        store.repairs.record(plan.id, [ChangeOutcome(each.sequence, after, each.message) for each in part])


def messages_of(store: MetaStore, plan: RepairPlan, state: ChangeState) -> tuple[str, ...]:
    with_message = (change for change in store.repairs.changes(plan.id, state=state, rows=False) if change.message)
    return tuple(
        f"{change.action} {change.table} ({', '.join(f'{n} = {v}' for n, v in change.key.items())}): {change.message}"
        for change in islice(with_message, LISTED)
    )
