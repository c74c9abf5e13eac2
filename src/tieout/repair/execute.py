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
from tieout.model.progress_events import Listener, Progress
from tieout.model.redaction import without_values
from tieout.model.repair import RepairResult
from tieout.model.results import Verdict
from tieout.runtime import job as runtime
from tieout.runtime.control import JobControl

T = TypeVar("T")

ATTEMPTS = 3
"""How often a transaction is begun that has to give way to others."""


class End(StrEnum):
    """What became of a change that was taken up."""

    DONE = "done"
    ALREADY = "already"
    """The row was as the change would leave it."""
    CHANGED = "changed"
    """It was neither as before nor as after: left alone."""
    REFUSED = "refused"
    """The engine, or what stands around the row, does not allow it; later it may."""
    KEPT = "kept"
    """Undo leaves it: nothing is lost by it."""


def in_transaction(
    writer: Writer, work: Callable[[], T], *, commits: Callable[[T], bool] = lambda _: True, deferred: bool = False
) -> T:
    """What the work returns; committed if `commits` says so, else rolled back.

    Refused if other transactions are always in the way. Whatever is raised, nothing has been changed, except that a
    lost connection may hide a commit. `deferred`: constraints that can wait are checked at the end.
    """
    try:
        for attempt in stamina.retry_context(on=TryAgain, attempts=ATTEMPTS, wait_initial=0.1, wait_jitter=0.1):
            with attempt:
                return _once(writer, work, commits, deferred)
    except TryAgain as contention:
        raise Refused(f"another transaction is in the way: {contention}") from None
    raise AssertionError("the last attempt returns or raises")


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


LISTED = 20
"""Differences and messages that a result carries."""


class Running:
    def __init__(self, store: MetaStore, plan: RepairPlan, direction: Direction, job_id: str) -> None:
        self._store = store
        self._plan = plan
        self._direction = direction
        self.job_id = job_id

    def between(self, listener: Listener) -> Callable[[str, int], None]:
        def report(table: str, settled: int) -> None:
            listener(Progress(self._direction.word, table, settled))
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
        self._store.jobs.finish(self.job_id, verdict=verdict, result=result.document())
        return result


@contextmanager
def running(
    store: MetaStore, plan: RepairPlan, direction: Direction, expected: tuple[RepairState, ...], state: RepairState
) -> Iterator[Running]:
    found_by = store.jobs.get(plan.job_id)
    for job in store.jobs.list(state=JobState.RUNNING, limit=1000):
        if job.kind is JobKind.REPAIR and job.request.get("plan") == plan.id:
            raise UsageError(f"plan {plan.id} is being worked on by process {job.pid} on {job.host} (job {job.id})")
    store.repairs.set_state(plan.id, state, expected=expected)
    request = {"plan": plan.id, "action": direction.word}
    job = store.jobs.create(JobKind.REPAIR, source=found_by.source, target=found_by.target, request=request)

    def ended(how: JobState, error: str | None) -> None:
        """A plan that was stopped stays as it is, half-way: apply or undo goes on from there."""
        if how is JobState.FAILED:
            store.repairs.set_state(plan.id, RepairState.FAILED, error=error)

    with runtime.running(store.jobs, job.id, ended):
        yield Running(store, plan, direction, job.id)


def restate(store: MetaStore, plan: RepairPlan, before: ChangeState, after: ChangeState) -> None:
    """All changes in one state into another; their messages stay."""
    changes = store.repairs.changes(plan.id, state=before, rows=False)
    while part := list(islice(changes, 500)):
        store.repairs.record(plan.id, [ChangeOutcome(each.sequence, after, each.message) for each in part])


def messages_of(store: MetaStore, plan: RepairPlan, state: ChangeState) -> tuple[str, ...]:
    told = (change for change in store.repairs.changes(plan.id, state=state, rows=False) if change.message)
    return tuple(
        f"{change.action} {change.table} ({', '.join(f'{n} = {v}' for n, v in change.key.items())}): {change.message}"
        for change in islice(told, LISTED)
    )
