"""A repair as a job of the meta store, whatever it repairs: seen, paused and cancelled from any terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice

from tieout.errors import UsageError
from tieout.meta import ChangeOutcome, ChangeState, JobKind, JobState, MetaStore, RepairPlan, RepairState
from tieout.model.progress_events import Listener, Progress
from tieout.model.repair import RepairResult
from tieout.model.results import Verdict
from tieout.repair.passes import FORWARDS, Direction
from tieout.runtime import job as runtime
from tieout.runtime.control import JobControl

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
