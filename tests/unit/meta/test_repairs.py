"""A repair plan is kept before anything is changed, and remembers how to undo it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tieout.errors import UsageError
from tieout.meta import ChangeAction, ChangeOutcome, ChangeState, Job, MetaStore, RepairChange, RepairState, repairs
from tieout.model.truncated import TruncatedText


def update(key: int) -> RepairChange:
    row = {"id": str(key), "qty": "1"}
    return RepairChange("main.orders", ChangeAction.UPDATE, {"id": str(key)}, old_row={**row, "qty": None}, new_row=row)


def test_changes_come_back_in_order_and_whole(store: MetaStore, job: Job) -> None:
    plan = store.repairs.create(job.id, (update(i) for i in range(7)), table="main.orders")
    assert (plan.job_id, plan.table, plan.state) == (job.id, "main.orders", RepairState.PLANNED)
    changes = list(store.repairs.changes(plan.id, chunk=3))
    assert [change.sequence for change in changes] == list(range(7))
    assert (changes[4].key, changes[4].old_row, changes[4].new_row) == (
        {"id": "4"},
        {"id": "4", "qty": None},
        {"id": "4", "qty": "1"},
    )
    assert store.repairs.get("last") == store.repairs.get(plan.id[:-1]) == plan
    assert store.repairs.list(job_id=job.id) == [plan]


def test_long_rows_come_a_few_at_a_time(store: MetaStore, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of a thousand rows of 64 MB is more than there is memory."""
    monkeypatch.setattr(repairs, "BATCH_BYTES", 1000)
    rows = [replace(update(i), old_row={"id": str(i), "v": "x" * 400}) for i in range(9)]
    plan = store.repairs.create(job.id, rows)
    asked = []
    read = store.repairs._database.read
    monkeypatch.setattr(store.repairs._database, "read", lambda: asked.append(None) or read())
    assert [change.old_row for change in store.repairs.changes(plan.id)] == [row.old_row for row in rows]
    assert len(asked) == 1 + 5
    assert {change.old_row for change in store.repairs.changes(plan.id, rows=False)} == {None}


def test_a_truncated_key_stays_one(store: MetaStore, job: Job) -> None:
    cut = TruncatedText("beginning", 10_000, "0f" * 16)
    plan = store.repairs.create(job.id, [replace(update(1), key={"id": cut})])
    (change,) = store.repairs.changes(plan.id)
    assert isinstance(change.key["id"], TruncatedText)
    assert change.key == {"id": cut}


def test_undo_reads_the_newest_applied_first(store: MetaStore, job: Job) -> None:
    plan = store.repairs.create(job.id, map(update, range(6)))
    store.repairs.record(plan.id, [ChangeOutcome(i, ChangeState.APPLIED) for i in (0, 1, 2, 4)])
    applied = store.repairs.changes(plan.id, state=ChangeState.APPLIED, newest_first=True, chunk=2)
    assert [change.sequence for change in applied] == [4, 2, 1, 0]


def test_changes_may_be_settled_while_they_are_read(store: MetaStore, job: Job) -> None:
    plan = store.repairs.create(job.id, map(update, range(9)))
    seen = []
    for change in store.repairs.changes(plan.id, state=ChangeState.PLANNED, chunk=2):
        seen.append(change.sequence)
        store.repairs.record(plan.id, [ChangeOutcome(change.sequence, ChangeState.APPLIED)])
    assert seen == list(range(9))


def test_outcomes_are_kept_and_repeating_them_changes_nothing(store: MetaStore, job: Job) -> None:
    plan = store.repairs.create(job.id, map(update, range(3)))
    outcomes = [
        ChangeOutcome(0, ChangeState.APPLIED, old_row={"id": "0", "qty": "5"}),
        ChangeOutcome(1, ChangeState.SKIPPED, "the row has changed since"),
    ]
    for _ in range(2):
        store.repairs.record(plan.id, outcomes)
    first, second, third = store.repairs.changes(plan.id)
    assert (first.state, first.old_row) == (ChangeState.APPLIED, {"id": "0", "qty": "5"})
    assert (second.state, second.message) == (ChangeState.SKIPPED, "the row has changed since")
    assert second.old_row == {"id": "1", "qty": None}
    assert third.state is ChangeState.PLANNED
    assert store.repairs.count(plan.id) == {
        ChangeState.APPLIED: 1,
        ChangeState.SKIPPED: 1,
        ChangeState.PLANNED: 1,
    }


def test_only_one_process_may_begin_to_apply(store: MetaStore, job: Job) -> None:
    plan = store.repairs.create(job.id, [update(1)])
    assert store.repairs.set_state(plan.id, RepairState.APPLYING, expected=[RepairState.PLANNED]).state == "applying"
    with pytest.raises(UsageError, match="is applying: it can't become applying"):
        store.repairs.set_state(plan.id, RepairState.APPLYING, expected=[RepairState.PLANNED])
    failed = store.repairs.set_state(plan.id, RepairState.FAILED, error="the target went away")
    assert failed.error == "the target went away"


def test_a_plan_that_was_not_finished_is_not_offered(store: MetaStore, job: Job) -> None:
    def breaking() -> Iterator[RepairChange]:
        yield update(1)
        raise ConnectionError

    with pytest.raises(ConnectionError):
        store.repairs.create(job.id, breaking())
    assert store.repairs.list() == []
    with pytest.raises(UsageError, match="there is no repair plan 'last'"):
        store.repairs.get("last")


def test_no_such_plan(store: MetaStore) -> None:
    with pytest.raises(UsageError, match="there is no repair plan 'p-1'"):
        store.repairs.get("p-1")
    with pytest.raises(UsageError, match="there is no repair plan 'p-1'"):
        store.repairs.set_state("p-1", RepairState.APPLIED)
