"""Applying a plan, and undoing it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import NoReturn

from tieout.config.urls import EndpointUrl
from tieout.errors import TieoutError, UsageError
from tieout.meta import ChangeOutcome, ChangeState, Job, JobKind, JobState, MetaStore, RepairPlan, RepairState, Wanted
from tieout.model.differences import Difference
from tieout.model.progress import Listener, Progress, silence
from tieout.model.repairs import RepairResult
from tieout.model.results import Verdict
from tieout.verify.heartbeat import heartbeat
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
    a plan goes on: what is done is not done twice, and what failed is tried again. Raises Interrupted if another
    terminal wants that.
    """
    plan = store.repairs.get(plan_ref)
    expected = (RepairState.PLANNED, RepairState.APPLYING, RepairState.APPLIED, RepairState.FAILED)
    with _running(store, plan, FORWARDS, expected, RepairState.APPLYING) as running:
        with opened(verification(store, plan.job_id), source_url, target_url) as sides:
            if plan.state is not RepairState.PLANNED:
                settle_in_flight(store, plan, sides)
                _restate(store, plan, ChangeState.FAILED, ChangeState.PLANNED)
            Passes(store, plan, sides, FORWARDS, batch, running.between(listener)).run()
            # What is still planned after the last pass was refused; its message says why.
            _restate(store, plan, ChangeState.PLANNED, ChangeState.FAILED)
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


def _restate(store: MetaStore, plan: RepairPlan, before: ChangeState, after: ChangeState) -> None:
    """All changes in one state into another; their messages stay."""
    changes = store.repairs.changes(plan.id, state=before)
    while part := list(islice(changes, 500)):
        store.repairs.record(plan.id, [ChangeOutcome(each.sequence, after, each.message) for each in part])


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


class _Stopped(Exception):
    """Another terminal wants this job to pause or to end."""

    def __init__(self, wanted: Wanted) -> None:
        super().__init__(wanted)
        self.wanted = wanted


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
            wanted = self._store.jobs.wanted(self.job_id)
            if wanted is not None:
                raise _Stopped(wanted)

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
        with heartbeat(store.jobs, job.id):
            yield _Running(store, plan, direction, job.id)
    except _Stopped as stopped:
        _interrupt(store, job, JobState.PAUSED if stopped.wanted is Wanted.PAUSE else JobState.CANCELLED)
    except KeyboardInterrupt:
        _interrupt(store, job, JobState.INTERRUPTED)
    except TieoutError as error:
        store.jobs.fail(job.id, str(error))
        store.repairs.set_state(plan.id, RepairState.FAILED, error=str(error))
        raise


def _interrupt(store: MetaStore, job: Job, state: JobState) -> NoReturn:
    """The plan stays as it is, half-way: apply or undo goes on from there."""
    from tieout.verify.ending import Interrupted

    store.jobs.stop(job.id, state)
    raise Interrupted(job.id, state) from None
