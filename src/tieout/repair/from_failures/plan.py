"""From a check's failures, and what people decided about them, to a plan of changes. Changes nothing.

The planner refuses some failures at once: by choice, by nature, because of triggers, or because nobody has decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.repair import Refused
from tieout.errors import UsageError
from tieout.meta import ChangeAction, ChangeState, Job, MetaStore, RepairChange
from tieout.model.failures import FailureState, KeptFailure
from tieout.model.progress_events import Listener, silence
from tieout.model.repair import CheckRepairSummary, Decisions, PlannedStep
from tieout.model.repair_choices import Category, Choice
from tieout.repair.from_failures.database import check_job, opened
from tieout.repair.from_failures.decisions import Decided, decide
from tieout.repair.from_failures.details import Details, IndexEntry, details_of
from tieout.repair.from_failures.draft import Draft
from tieout.repair.from_failures.row_edits import Impossible, parent_of, parents, restored, row_changes
from tieout.repair.from_failures.rows_known_only_to_indexes import index_only_rows
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
    """Stores a plan that would end the failures of a check, as far as people have decided."""
    job = check_job(store, job_ref)
    if job.request.get("redact_values"):
        raise UsageError(
            f"check {job.id} redacted values, and a repair needs the values of entries and rows",
            "check again with --no-redact-values, and repair from that",
        )
    kept = [each for each in store.failures.of_job(job.id) if table is None or _is_of(each, table)]
    wanted = [each for each in kept if each.state is not FailureState.IGNORED]
    decided = decide(wanted, decisions)
    with opened(job, url) as database:
        known = index_only_rows(decided, database.table, database.repairer.columns_from_address)
        draft = Draft(database, decided, decisions, known)
        changes = _changes(draft, listener)
        plan = store.repairs.create(job.id, changes, table=table)
    notes = _notes(store, job, kept, wanted, filtered=table is not None)
    return _summary(draft, plan.id, job, changes, notes)


def _is_of(kept: KeptFailure, table: str) -> bool:
    name = kept.failure.table
    return name == table or name.endswith(f".{table}")


def _changes(draft: Draft, listener: Listener) -> list[RepairChange]:
    """First the duplicates to delete, then indexes, then rows; parents before the rows that refer to them."""
    refuse(draft)
    wait_for_each_other(draft)
    indexes = rebuilds(draft)
    rows = row_changes(draft, listener)
    first = [change for edit, change in rows if edit.goes_first]
    others = [change for edit, change in rows if not edit.goes_first]
    planned = [*first, *indexes, *parents(draft), *others, *restored(draft), *advanced(draft)]
    if draft.decisions.triggers:
        planned = [replace(c, details=replace(details_of(c), triggers=True).document()) for c in planned]
    return [*planned, *draft.undone()]


def _notes(
    store: MetaStore, job: Job, kept: Sequence[KeptFailure], wanted: Sequence[KeptFailure], *, filtered: bool
) -> tuple[str, ...]:
    notes = []
    if len(wanted) < len(kept):
        notes.append(f"{plural(len(kept) - len(wanted), 'failure')} ignored by somebody: the plan leaves them alone")
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
        tuple(_step_of(change) for change in planned),
        tuple(draft.open.values()),
        tuple(draft.left.values()),
        tuple(row.summary() for row in draft.index_only_rows),
        len(draft.vanished),
        notes,
    )


def _step_of(change: RepairChange) -> PlannedStep:
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
        elif each.advice.category is Category.NOT_REPAIRABLE:
            draft.leave(each, each.advice.suggestion)
        elif draft.database.table(each.failure.table) is None:
            draft.leave(each, "the table is not there any more")
        elif each.choice is None:
            draft.wait(each, each.advice.suggestion)
        elif (runs := _set_off(draft, triggers, each)) is not None:
            draft.leave(each, runs)
    for row in draft.index_only_rows:
        reason = row.unrestorable()
        if row.choice is Choice.RESTORE and reason is not None:
            for entry in row.entries:
                draft.wait(entry, f"can't be restored: {reason}")


def _set_off(draft: Draft, triggers: Triggers, each: Decided) -> str | None:
    table = draft.database.table(each.failure.table)
    if draft.decisions.triggers or table is None:
        return None
    if each.choice is Choice.INSERT_PARENT:
        try:
            table = draft.database.table(str(parent_of(each, table, draft.repairer).table))
        except Impossible:
            return None  # the search for the parent reports it
    return None if table is None else triggers.set_off_by(table, each.choice)


_REPAIRS_INDEX = {Choice.REBUILD, Choice.CREATE, Choice.QUARANTINE}


def wait_for_each_other(draft: Draft) -> None:
    """Waits until all entries of an index, or of a lost row, are decided: a rebuild or restore uses all of them."""
    groups = [*_by_index(draft).values(), *(row.entries for row in draft.index_only_rows)]
    while any(_wait_in(draft, group) for group in groups):
        pass


def rebuilds(draft: Draft) -> list[RepairChange]:
    """One rebuild for each index; one for a table, if the engine repairs all of its indexes at once."""
    by_statements: dict[tuple[str, ...], list[tuple[str, list[Decided]]]] = {}
    for (name, index), failures in _by_index(draft).items():
        table = draft.database.table(name)
        if table is not None and _free(draft, failures):
            by_statements.setdefault(tuple(draft.repairer.rebuild_statements(table, index)), []).append(
                (index, failures)
            )
    return [_rebuild(statements, indexes) for statements, indexes in by_statements.items()]


def _by_index(draft: Draft) -> dict[tuple[str, str], list[Decided]]:
    found: dict[tuple[str, str], list[Decided]] = {}
    for each in draft.decided:
        if each.failure.index is not None and _REPAIRS_INDEX & set(each.advice.choices):
            found.setdefault((each.failure.table, each.failure.index), []).append(each)
    return found


def _free(draft: Draft, group: Sequence[Decided]) -> list[Decided]:
    """The failures that a rebuild ends; deleting a row is another change."""
    return [each for each in group if draft.is_planned(each) and each.choice is not Choice.DELETE]


def _wait_in(draft: Draft, group: Sequence[Decided]) -> bool:
    """Whether one more failure has to wait."""
    left, waits = (any(each.id in found for each in group) for found in (draft.left, draft.open))
    free = _free(draft, group)
    for each in free:
        if left:
            draft.leave(each, "another entry is left as it is: its index is not rebuilt")
        elif waits:
            draft.wait(each, "its index is rebuilt when all of its entries are decided")
    return bool(free) and (left or waits)


def _rebuild(statements: Sequence[str], indexes: Sequence[tuple[str, Sequence[Decided]]]) -> RepairChange:
    failures = [each for _, found in indexes for each in found]
    # RESTORE inserts the row that entries still describe; the entries go to quarantine all the same.
    entries = [
        IndexEntry(each.id, each.failure.index or "", each.failure.place, each.entry) for each in failures if each.entry
    ]
    details = Details(
        tuple(each.id for each in failures if each.choice is not Choice.DELETE),
        tuple(name for name, _ in indexes),
        statements=tuple(statements),
        entries=tuple(entries),
    )
    key = {"index": ", ".join(name for name, _ in indexes)}
    return RepairChange(failures[0].failure.table, ChangeAction.REBUILD, key, details=details.document())


def advanced(draft: Draft) -> list[RepairChange]:
    made = []
    for each in draft.decided:
        table = draft.database.table(each.failure.table)
        if each.choice is Choice.ADVANCE and draft.is_planned(each) and table is not None:
            column, sequence = each.failure.columns[0], each.failure.details.get("sequence")
            try:
                statements = tuple(draft.repairer.advance_statements(table, column, sequence))
            except Refused as refusal:
                draft.leave(each, refusal.message)
                continue
            details = Details((each.id,), statements=statements).document()
            made.append(RepairChange(each.failure.table, ChangeAction.ADVANCE, {"column": column}, details=details))
    return made
