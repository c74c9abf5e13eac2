"""Applies a plan and undoes it; after an apply, looks whether the rows of the plan are equal on both sides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby, islice

from tieout.config.urls import EndpointUrl
from tieout.meta import ChangeState, MetaStore, RepairPlan, RepairState
from tieout.model.differences import Difference
from tieout.model.progress_events import Listener, silence
from tieout.model.repair import RepairResult
from tieout.repair.from_differences.execute import RowWork, settle_in_flight
from tieout.repair.from_differences.tables import Sides, key_of, opened, verification
from tieout.repair.job import LISTED, messages_of, restate, running
from tieout.repair.passes import BACKWARDS, FORWARDS, Direction, Passes
from tieout.repair.transaction import End
from tieout.runtime.ranges import Portions
from tieout.verification.compare import compare_rows
from tieout.verification.localise import shape_of
from tieout.verification.rows import LOOKUP, look_up_rows

BATCH = 200
"""Changes in one transaction."""


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
    with running(store, plan, FORWARDS, expected, RepairState.APPLYING) as work:
        with opened(verification(store, plan.job_id), source_url, target_url) as sides:
            if plan.state is not RepairState.PLANNED:
                settle_in_flight(store, plan, sides)
                restate(store, plan, ChangeState.FAILED, ChangeState.PLANNED)
            _passes(store, plan, sides, FORWARDS, batch, work.between(listener)).run()
            # What is still planned after the last pass was refused; its message says why.
            restate(store, plan, ChangeState.PLANNED, ChangeState.FAILED)
            return work.finish(_checked(store, plan, sides))


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
    with running(store, plan, BACKWARDS, expected, RepairState.UNDOING) as work:
        with opened(verification(store, plan.job_id), source_url, target_url) as sides:
            settle_in_flight(store, plan, sides)
            passes = _passes(store, plan, sides, BACKWARDS, batch, work.between(listener))
            passes.run()
            counts = store.repairs.count(plan.id)
            skipped, failed = passes.left[End.CHANGED], passes.left[End.REFUSED]
            messages = messages_of(store, plan, ChangeState.APPLIED)
            done = counts.get(ChangeState.UNDONE, 0)
            return work.finish(RepairResult(plan.id, plan.job_id, "undo", done, skipped, failed, messages=messages))


def _passes(
    store: MetaStore,
    plan: RepairPlan,
    sides: Sides,
    direction: Direction,
    batch: int,
    between: Callable[[str, int], None],
) -> Passes:
    work = RowWork(store, plan, sides, direction, batch)
    return Passes(store, plan, direction, work, between, redacts=sides.redacts)


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
        messages=messages_of(store, plan, ChangeState.FAILED) + messages_of(store, plan, ChangeState.SKIPPED),
    )


def still_different(store: MetaStore, plan: RepairPlan, sides: Sides) -> Iterator[Difference]:
    """The differences that are left among the rows of the plan, read anew, compared as the verification does."""
    for name, changes in groupby(store.repairs.changes(plan.id, rows=False), key=lambda change: change.table):
        table = sides.tables.get(name)
        if table is None:
            continue
        portions = Portions(LOOKUP)
        keys = (key for change in changes if (key := key_of(table, change.key)) is not None)
        for some in portions.of(keys):
            source = look_up_rows(table.plan.source.reader, table.plan.source.scan, some)
            target = look_up_rows(table.plan.target.reader, table.plan.target.scan, some)
            shape = shape_of(table.plan)
            yield from map(shape.shown, compare_rows(shape, source, target).differences())
            portions.took(max(source.size, target.size))
