"""Applying a plan, and undoing it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice

from tieout.config.urls import EndpointUrl
from tieout.errors import TieoutError, UsageError
from tieout.meta import ChangeOutcome, ChangeState, JobKind, JobState, MetaStore, RepairPlan, RepairState, Wanted
from tieout.model.differences import Difference
from tieout.model.progress import Listener, Progress, silence
from tieout.model.repairs import RepairResult
from tieout.verify.checksum import Stopped
from tieout.verify.repair.checking import still_different
from tieout.verify.repair.passes import BACKWARDS, FORWARDS, Direction, Passes, settle_in_flight
from tieout.verify.repair.sides import Sides, opened, verification
from tieout.verify.repair.transaction import End

BATCH = 200
"""Changes in one transaction."""

LISTED = 20
"""Differences and messages that a result carries."""


def apply_repair(
    store: MetaStore,
    plan_ref: str,
    source_url: EndpointUrl,
    target_url: EndpointUrl,
    *,
    listener: Listener = silence,
    batch: int = BATCH,
) -> RepairResult:
    """Changes the target as planned, then looks whether the plan's rows are equal.

    A row that is not as it was when the plan was made is left alone. Applied again after a crash or a failure,
    a plan goes on: what is done is not done twice, and what failed is tried again. Raises Stopped if another
    terminal wants that.
    """
    plan = store.repairs.get(plan_ref)
    expected = (RepairState.PLANNED, RepairState.APPLYING, RepairState.APPLIED, RepairState.FAILED)
    with _running(store, plan, FORWARDS, expected, RepairState.APPLYING) as running:
        with opened(verification(store, plan.job_id), source_url, target_url) as sides:
            if plan.state is not RepairState.PLANNED:
                settle_in_flight(store, plan, sides)
                _plan_failed_again(store, plan)
            Passes(store, plan, sides, FORWARDS, batch, running.between(listener)).run()
            _fail_the_rest(store, plan)
            return running.finish(_checked(store, plan, sides))


def undo_repair(
    store: MetaStore,
    plan_ref: str,
    source_url: EndpointUrl,
    target_url: EndpointUrl,
    *,
    listener: Listener = silence,
    batch: int = BATCH,
) -> RepairResult:
    """Puts back what the plan has changed on the target, the last change first.

    A row that is not as the repair left it stays as it is, and counts as skipped.
    """
    plan = store.repairs.get(plan_ref)
    expected = (RepairState.APPLYING, RepairState.APPLIED, RepairState.FAILED, RepairState.UNDOING, RepairState.UNDONE)
    with _running(store, plan, BACKWARDS, expected, RepairState.UNDOING) as running:
        with opened(verification(store, plan.job_id), source_url, target_url) as sides:
            settle_in_flight(store, plan, sides)
            passes = Passes(store, plan, sides, BACKWARDS, batch, running.between(listener))
            passes.run()
            counts = store.repairs.count(plan.id)
            skipped, failed = passes.left[End.CHANGED], passes.left[End.REFUSED]
            messages = _messages(store, plan, ChangeState.APPLIED)
            done = counts.get(ChangeState.UNDONE, 0)
            return running.finish(RepairResult(plan.id, plan.job_id, "undo", done, skipped, failed, messages=messages))


def _plan_failed_again(store: MetaStore, plan: RepairPlan) -> None:
    for change in store.repairs.changes(plan.id, state=ChangeState.FAILED):
        store.repairs.record(plan.id, [ChangeOutcome(change.sequence, ChangeState.PLANNED)])


def _fail_the_rest(store: MetaStore, plan: RepairPlan) -> None:
    """What is still planned after the last pass was refused; its message says why."""
    for change in store.repairs.changes(plan.id, state=ChangeState.PLANNED):
        store.repairs.record(plan.id, [ChangeOutcome(change.sequence, ChangeState.FAILED, change.message)])


def _checked(store: MetaStore, plan: RepairPlan, sides: Sides) -> RepairResult:
    left = still_different(store, plan, sides)
    first: tuple[Difference, ...] = tuple(islice(left, LISTED))
    counts = store.repairs.count(plan.id)
    return RepairResult(
        plan.id,
        plan.job_id,
        "apply",
        done=counts.get(ChangeState.APPLIED, 0),
        skipped=counts.get(ChangeState.SKIPPED, 0),
        failed=counts.get(ChangeState.FAILED, 0),
        different=len(first) + sum(1 for _ in left),
        differences=first,
        messages=_messages(store, plan, ChangeState.FAILED) + _messages(store, plan, ChangeState.SKIPPED),
    )


def _messages(store: MetaStore, plan: RepairPlan, state: ChangeState) -> tuple[str, ...]:
    told = (change for change in store.repairs.changes(plan.id, state=state) if change.message)
    return tuple(
        f"{change.action} {change.table} ({', '.join(f'{n} = {v}' for n, v in change.key.items())}): {change.message}"
        for change in islice(told, LISTED)
    )


class _Running:
    """A repair as a job of the meta store: seen, paused and cancelled from any terminal."""

    def __init__(self, store: MetaStore, plan: RepairPlan, direction: Direction, job_id: str) -> None:
        self._store = store
        self._plan = plan
        self._direction = direction
        self.job_id = job_id

    def between(self, listener: Listener) -> Callable[[str, int], None]:
        def report(table: str, settled: int) -> None:
            listener(Progress(self._direction.word, table, settled))
            wanted = self._store.jobs.heartbeat(self.job_id)
            if wanted is not None:
                raise Stopped(wanted)

        return report

    def finish(self, result: RepairResult) -> RepairResult:
        left = result.failed if self._direction is FORWARDS else result.failed + result.skipped
        if left:
            error = result.messages[0] if result.messages else None
            self._store.repairs.set_state(self._plan.id, RepairState.FAILED, error=error)
        else:
            done = RepairState.APPLIED if self._direction is FORWARDS else RepairState.UNDONE
            self._store.repairs.set_state(self._plan.id, done)
        self._store.jobs.finish(self.job_id, verdict=None, result=result.document())
        return result


@contextmanager
def _running(
    store: MetaStore, plan: RepairPlan, direction: Direction, expected: tuple[RepairState, ...], state: RepairState
) -> Iterator[_Running]:
    verified = store.jobs.get(plan.job_id)
    for job in store.jobs.list(state=JobState.RUNNING, limit=1000):
        if job.kind is JobKind.REPAIR and job.request.get("plan") == plan.id:
            raise UsageError(f"plan {plan.id} is being worked on by process {job.pid} on {job.host} (job {job.id})")
    store.repairs.set_state(plan.id, state, expected=expected)
    request = {"plan": plan.id, "action": direction.word}
    job = store.jobs.create(JobKind.REPAIR, source=verified.source, target=verified.target, request=request)
    try:
        yield _Running(store, plan, direction, job.id)
    except Stopped as stopped:
        store.jobs.stop(job.id, JobState.PAUSED if stopped.wanted is Wanted.PAUSE else JobState.CANCELLED)
        raise
    except TieoutError as error:
        store.jobs.fail(job.id, str(error))
        store.repairs.set_state(plan.id, RepairState.FAILED, error=str(error))
        raise
    except BaseException:
        store.jobs.stop(job.id, JobState.INTERRUPTED)
        raise
