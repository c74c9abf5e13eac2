"""Repairs of what a verification or a check found: planned, applied, undone; and which job or plan a user means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

from tieout.api.failures import kind_named
from tieout.config.urls import parse_url
from tieout.errors import UsageError
from tieout.meta import DEFAULT_URL, Job, JobKind, RepairPlan, open_store
from tieout.model.nearest import chosen
from tieout.model.progress_events import Listener, silence
from tieout.model.repair import CheckRepairSummary, Decisions, RepairResult, RepairSummary
from tieout.model.repair_choices import Choice


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
                raise UsageError(f"job {job.id} is a {job.kind}: it has nothing to repair", "see `tieout jobs list`")
            return job
        newest = [job for kind in kinds for job in store.jobs.list(limit=1, kind=kind)]
    if not newest:
        raise UsageError("there is no verification or check to repair from", "run `tieout verify` or `tieout check`")
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
    """Stores a plan that would end the differences of a verification. Reads both sides, changes nothing.

    `with_values` allows the plan of a verification that redacted values to keep whole rows.
    """
    from tieout.repair.from_differences import plan_repair

    with open_store(meta) as store:
        return plan_repair(
            store, job, parse_url(source), parse_url(target), table=table, with_values=with_values, listener=listener
        )


def apply_repair(
    plan: str, source: str, target: str, *, meta: str = DEFAULT_URL, listener: Listener = silence
) -> RepairResult:
    """Changes the target as planned; rechecks rows before and after. Raises Interrupted if somebody stops it."""
    from tieout.repair.from_differences import apply_repair

    with open_store(meta) as store:
        return apply_repair(store, plan, parse_url(source), parse_url(target), listener=listener)


def undo_repair(
    plan: str, source: str, target: str, *, meta: str = DEFAULT_URL, listener: Listener = silence
) -> RepairResult:
    """Restores the old rows where they are still as the repair left them. Raises Interrupted if somebody stops it."""
    from tieout.repair.from_differences import undo_repair

    with open_store(meta) as store:
        return undo_repair(store, plan, parse_url(source), parse_url(target), listener=listener)


def write_repair_sql(plan: str, source: str, target: str, out: TextIO, *, meta: str = DEFAULT_URL) -> int:
    """Writes a plan as statements in the target's dialect; returns how many."""
    from tieout.repair.from_differences import repair_statements

    with open_store(meta) as store:
        return repair_statements(store, plan, parse_url(source), parse_url(target), out)


def plan_check_repair(
    job: str,
    url: str,
    *,
    choose: Mapping[str, Choice | str] | None = None,
    values: Mapping[str, str] | None = None,
    table: str | None = None,
    meta: str = DEFAULT_URL,
    listener: Listener = silence,
) -> CheckRepairSummary:
    """Stores a plan that would end the failures of a check. Reads the database, changes nothing.

    `choose` says by the name of a kind of failure, or by a failure's id, how it is repaired; `values` are what
    columns are set to where a value is replaced or a parent inserted. A table with triggers is left alone, unless
    `choose` has {"triggers": "run"}.
    """
    from tieout.repair.from_failures import plan_check_repair

    decided = dict(choose or {})
    triggers = decided.pop("triggers", None)
    if triggers not in (None, "run"):
        raise UsageError(f"triggers={triggers} is not a choice", "write triggers=run to accept that triggers run")
    choices = {_of(name): chosen(Choice, way, "way to repair a failure") for name, way in decided.items()}
    decisions = Decisions(choices, dict(values or {}), triggers=triggers is not None)
    with open_store(meta) as store:
        return plan_check_repair(store, job, parse_url(url), decisions, table=table, listener=listener)


def apply_check_repair(plan: str, url: str, *, meta: str = DEFAULT_URL, listener: Listener = silence) -> RepairResult:
    """Changes the database as planned; rechecks before each change. Raises Interrupted if somebody stops it."""
    from tieout.repair.from_failures import apply_check_repair

    with open_store(meta) as store:
        return apply_check_repair(store, plan, parse_url(url), listener=listener)


def undo_check_repair(plan: str, url: str, *, meta: str = DEFAULT_URL, listener: Listener = silence) -> RepairResult:
    """Restores rows and values that are still as the repair left them. Raises Interrupted if somebody stops it."""
    from tieout.repair.from_failures import undo_check_repair

    with open_store(meta) as store:
        return undo_check_repair(store, plan, parse_url(url), listener=listener)


def write_check_repair_sql(plan: str, url: str, out: TextIO, *, meta: str = DEFAULT_URL) -> int:
    """Writes a plan as statements, in order; returns how many changes they make."""
    from tieout.repair.from_failures import check_repair_statements

    with open_store(meta) as store:
        return check_repair_statements(store, plan, parse_url(url), out)


def _of(name: str) -> str:
    """The key of a choice: a failure's id, or the name of a kind of failure."""
    return name if name.startswith("f-") else kind_named(name).value
