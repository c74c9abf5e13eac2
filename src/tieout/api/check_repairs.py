"""Repairs of what a check found: decided, planned, applied, undone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TextIO

from tieout.api.failures import kind_named
from tieout.config.urls import parse_url
from tieout.errors import UsageError
from tieout.meta import DEFAULT_URL, open_store
from tieout.model.nearest import chosen
from tieout.model.progress_events import Listener, silence
from tieout.model.repair import CheckRepairSummary, Decisions, RepairResult
from tieout.model.repair_choices import Choice


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
    """Keeps a plan that would end the failures of a check. Reads the database, changes nothing.

    `choose` says by the name of a kind of failure, or by a failure's id, how it is repaired; `values` are what
    columns are set to where a value is replaced or a parent inserted. A table with triggers is left alone, unless
    `choose` has {"triggers": "run"}.
    """
    from tieout.repair.from_failures import plan_check_repair

    decided = dict(choose or {})
    triggers = decided.pop("triggers", None)
    if triggers not in (None, "run"):
        raise UsageError(f"triggers={triggers} says nothing", "triggers=run accepts that they run")
    choices = {_of(name): chosen(Choice, way, "way to repair a failure") for name, way in decided.items()}
    decisions = Decisions(choices, dict(values or {}), triggers=triggers is not None)
    with open_store(meta) as store:
        return plan_check_repair(store, job, parse_url(url), decisions, table=table, listener=listener)


def apply_check_repair(plan: str, url: str, *, meta: str = DEFAULT_URL, listener: Listener = silence) -> RepairResult:
    """Changes the database as planned; looks again before each change. Interrupted if asked to stop."""
    from tieout.repair.from_failures import apply_check_repair

    with open_store(meta) as store:
        return apply_check_repair(store, plan, parse_url(url), listener=listener)


def undo_check_repair(plan: str, url: str, *, meta: str = DEFAULT_URL, listener: Listener = silence) -> RepairResult:
    """Puts rows and values back, where they are still as the repair left them. Interrupted if asked to stop."""
    from tieout.repair.from_failures import undo_check_repair

    with open_store(meta) as store:
        return undo_check_repair(store, plan, parse_url(url), listener=listener)


def write_check_repair_sql(plan: str, url: str, out: TextIO, *, meta: str = DEFAULT_URL) -> int:
    """Writes a plan as statements, in order; returns how many changes they make."""
    from tieout.repair.from_failures import check_repair_statements

    with open_store(meta) as store:
        return check_repair_statements(store, plan, parse_url(url), out)


def _of(name: str) -> str:
    """What a choice is for: a failure by its id, or a kind of failure."""
    return name if name.startswith("f-") else kind_named(name).value
