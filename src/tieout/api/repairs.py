"""Repairs of what a verification found, planned, applied, undone; and which job or plan a user means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TextIO

from tieout.config.urls import parse_url
from tieout.errors import UsageError
from tieout.meta import DEFAULT_URL, Job, JobKind, RepairPlan, open_store
from tieout.model.progress_events import Listener, silence
from tieout.model.repair import RepairResult, RepairSummary


@dataclass(frozen=True, slots=True)
class PlanDetails:
    """A repair plan, and the verification or the check that it comes from."""

    plan: RepairPlan
    job: Job


def repairable_job(reference: str, meta: str = DEFAULT_URL) -> Job:
    """A verification or a check by its id, by the beginning of one, or the newest of both for `last`."""
    kinds = (JobKind.VERIFICATION, JobKind.CHECK)
    with open_store(meta) as store:
        if reference != "last":
            job = store.jobs.get(reference)
            if job.kind not in kinds:
                raise UsageError(f"job {job.id} is a {job.kind}: it found nothing", "see `tieout jobs list`")
            return job
        newest = [job for kind in kinds for job in store.jobs.list(limit=1, kind=kind)]
    if not newest:
        raise UsageError(
            "there is no verification and no check to repair from", "run `tieout verify` or `tieout check`"
        )
    return max(newest, key=lambda job: (job.started_at, job.id))


def repair_plan(reference: str, meta: str = DEFAULT_URL) -> PlanDetails:
    """A plan by its id, by the beginning of one, or the newest for `last`."""
    with open_store(meta) as store:
        plan = store.repairs.get(reference)
        return PlanDetails(plan, store.jobs.get(plan.job_id))


def plan_repair(
    job: str,
    source: str,
    target: str,
    *,
    table: str | None = None,
    with_values: bool = False,
    meta: str = DEFAULT_URL,
    listener: Listener = silence,
) -> RepairSummary:
    """Keeps a plan that would end the differences of a verification. Reads both sides, changes nothing.

    The plan of a verification that redacted values has to be allowed to keep whole rows: `with_values`.
    """
    from tieout.repair.from_differences import plan_repair

    with open_store(meta) as store:
        return plan_repair(
            store, job, parse_url(source), parse_url(target), table=table, with_values=with_values, listener=listener
        )


def apply_repair(
    plan: str, source: str, target: str, *, meta: str = DEFAULT_URL, listener: Listener = silence
) -> RepairResult:
    """Changes the target as planned; looks again before each change, and afterwards. Interrupted if asked to stop."""
    from tieout.repair.from_differences import apply_repair

    with open_store(meta) as store:
        return apply_repair(store, plan, parse_url(source), parse_url(target), listener=listener)


def undo_repair(
    plan: str, source: str, target: str, *, meta: str = DEFAULT_URL, listener: Listener = silence
) -> RepairResult:
    """Puts the old rows back, where they are still as the repair left them. Interrupted if asked to stop."""
    from tieout.repair.from_differences import undo_repair

    with open_store(meta) as store:
        return undo_repair(store, plan, parse_url(source), parse_url(target), listener=listener)


def write_repair_sql(plan: str, source: str, target: str, out: TextIO, *, meta: str = DEFAULT_URL) -> int:
    """Writes a plan as statements in the target's dialect; returns how many."""
    from tieout.repair.from_differences import repair_statements

    with open_store(meta) as store:
        return repair_statements(store, plan, parse_url(source), parse_url(target), out)
