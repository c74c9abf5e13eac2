"""From a check's failures, and what people decided about them, to a plan of changes. Changes nothing.

Some failures are refused at once: by choice, by nature, by triggers, or as nobody has decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tieout.config.urls import EndpointUrl
from tieout.errors import UsageError
from tieout.meta import ChangeAction, ChangeState, Job, MetaStore, RepairChange
from tieout.meta.failures import FailureState, KeptFailure
from tieout.model.progress_events import Listener, silence
from tieout.model.repair import CheckRepairSummary, Decisions, PlannedStep
from tieout.model.repair_choices import Category, Choice
from tieout.repair.from_failures.database import check_job, opened
from tieout.repair.from_failures.decisions import Decided, decide
from tieout.repair.from_failures.details import details_of
from tieout.repair.from_failures.draft import Draft
from tieout.repair.from_failures.index_rebuilds import advanced, rebuilds, wait_for_each_other
from tieout.repair.from_failures.inserted_rows import parents, restored
from tieout.repair.from_failures.row_edits import Impossible, parent_of, row_changes
from tieout.repair.from_failures.rows_known_only_to_indexes import ghosts
from tieout.repair.from_failures.triggers import Triggers
from tieout.wording import plural


def plan_check_repair(
    store: MetaStore,
    job_ref: str,
    url: EndpointUrl,
    decisions: Decisions,
    *,
    table: str | None = None,
    listener: Listener = silence,
) -> CheckRepairSummary:
    """Keeps a plan that would end the failures of a check, as far as they are decided."""
    job = check_job(store, job_ref)
    if job.request.get("redact_values"):
        raise UsageError(
            f"check {job.id} redacted values: what a repair has to know of entries and rows was not kept",
            "check again with --no-redact-values, and repair from that",
        )
    kept = [each for each in store.failures.of_job(job.id) if table is None or _is_of(each, table)]
    wanted = [each for each in kept if each.state is not FailureState.IGNORED]
    decided = decide(wanted, decisions)
    with opened(job, url) as database:
        known = ghosts(decided, database.table, database.repairer.known_from)
        draft = Draft(database, decided, decisions, known)
        changes = _changes(draft, listener)
        plan = store.repairs.create(job.id, changes, table=table)
    notes = _notes(store, job, kept, wanted, filtered=table is not None)
    return _summary(draft, plan.id, job, changes, notes)


def _is_of(kept: KeptFailure, table: str) -> bool:
    name = str(kept.found["table"])
    return name == table or name.endswith(f".{table}")


def _changes(draft: Draft, listener: Listener) -> list[RepairChange]:
    """What duplicates have to go, then the indexes, then rows; parents before those that refer to them."""
    refuse(draft)
    wait_for_each_other(draft)
    indexes = rebuilds(draft)
    rows = row_changes(draft, listener)
    first = [change for wish, change in rows if wish.goes_first]
    others = [change for wish, change in rows if not wish.goes_first]
    planned = [*first, *indexes, *parents(draft), *others, *restored(draft), *advanced(draft)]
    if draft.decisions.triggers:
        planned = [replace(c, details=replace(details_of(c), triggers=True).document()) for c in planned]
    return [*planned, *draft.undone()]


def _notes(
    store: MetaStore, job: Job, kept: Sequence[KeptFailure], wanted: Sequence[KeptFailure], *, filtered: bool
) -> tuple[str, ...]:
    notes = []
    if len(wanted) < len(kept):
        notes.append(f"{plural(len(kept) - len(wanted), 'failure')} ignored by somebody: left alone")
    result = store.jobs.result(job.id) or {}
    found = sum(check["failures"] for check in result.get("checks", ()))
    if found > len(kept) and not filtered:
        seen = plural(found - len(kept), "failure")
        notes.append(f"{seen} of the job {'was' if found - len(kept) == 1 else 'were'} seen or missed by a later check")
    return tuple(notes)


def _summary(
    draft: Draft, plan: str, job: Job, changes: Sequence[RepairChange], notes: tuple[str, ...]
) -> CheckRepairSummary:
    planned = [change for change in changes if change.state is ChangeState.PLANNED]
    return CheckRepairSummary(
        plan,
        job.id,
        job.source,
        tuple(_told(change) for change in planned),
        tuple(draft.open.values()),
        tuple(draft.left.values()),
        tuple(ghost.told() for ghost in draft.ghosts),
        len(draft.vanished),
        notes,
    )


def _told(change: RepairChange) -> PlannedStep:
    details = details_of(change)
    words = " ".join(f"{name}={value}" for name, value in change.key.items())
    if change.action is ChangeAction.REBUILD:
        words = ", ".join(details.indexes)
    elif change.action is ChangeAction.UPDATE:
        new = [f"{name} = {'NULL' if value is None else value}" for name, value in (change.new_row or {}).items()]
        new += [f"{name} = DEFAULT" for name in details.defaults]
        words += f": {', '.join(new) or 'written again'}"
    return PlannedStep(change.action.value, change.table, words, details.failures)


def refuse(draft: Draft) -> None:
    triggers = Triggers(draft.repairer)
    for each in draft.decided:
        if each.choice is Choice.LEAVE:
            draft.leave(each, "left as it is, by choice")
        elif each.remedy.category is Category.NOT_REPAIRABLE:
            draft.leave(each, each.remedy.suggestion)
        elif draft.database.table(each.failure.table) is None:
            draft.leave(each, "the table is not there any more")
        elif each.choice is None:
            draft.wait(each, each.remedy.suggestion)
        elif (runs := _set_off(draft, triggers, each)) is not None:
            draft.leave(each, runs)
    for ghost in draft.ghosts:
        reason = ghost.unrestorable()
        if ghost.choice is Choice.RESTORE and reason is not None:
            for entry in ghost.entries:
                draft.wait(entry, f"can't be restored: {reason}")


def _set_off(draft: Draft, triggers: Triggers, each: Decided) -> str | None:
    table = draft.database.table(each.failure.table)
    if draft.decisions.triggers or table is None:
        return None
    if each.choice is Choice.INSERT_PARENT:
        try:
            table = draft.database.table(str(parent_of(each, table, draft.repairer).table))
        except Impossible:
            return None  # said when the parent is looked for
    return None if table is None else triggers.set_off_by(table, each.choice)
