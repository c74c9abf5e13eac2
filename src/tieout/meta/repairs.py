"""Repair plans: the changes that would repair what a job found, what became of each, and how to undo it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from sqlalchemy import Text, bindparam, func, insert, select, type_coerce, update

from tieout.errors import UsageError
from tieout.meta.columns import json_text
from tieout.meta.database import Database
from tieout.meta.ids import find, new_id
from tieout.meta.ownership import now
from tieout.meta.records import ChangeAction, ChangeOutcome, ChangeState, RepairChange, RepairPlan, RepairState
from tieout.meta.schema import repair_changes, repairs
from tieout.model.truncated import restored, stored

CHUNK = 1000
"""Changes read or written at once, if their rows are short."""

_LONGEST_ESCAPE = 13
"""The most bytes of one character: a pair of surrogates is twelve in JSON, and a quote beside it gets a backslash."""
_SMALLEST_LIMIT = 1 << 20
_ROOM_BESIDE = 64 << 10
"""Room for what a statement holds besides the rows: the key, a message."""


class Repairs:
    """The repair plans of a store. Commits here survive a power loss: undo depends on them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, job_id: str, changes: Iterable[RepairChange], *, table: str | None = None) -> RepairPlan:
        """Creates a plan with these changes in order. They may come slowly; until the last, the plan is a draft."""
        plan_id = self._draft(job_id, table)
        first = 0
        for batch in in_batches(changes, CHUNK, lambda change: change.size):
            with self._database.write(survives_power_loss=True) as connection:
                connection.execute(
                    insert(repair_changes),
                    [{"repair_id": plan_id, "sequence": first + i, **_values(each)} for i, each in enumerate(batch)],
                )
            first += len(batch)
        return self.set_state(plan_id, RepairState.PLANNED, expected=(RepairState.DRAFT,))

    def get(self, reference: str) -> RepairPlan:
        """The plan with this id, the only one whose id starts with it, or the newest for `last`."""
        with self._database.read() as connection:
            row = find(connection, _newest(), repairs.c.id, reference)
        if row is None:
            raise UsageError(f"there is no repair plan {reference!r}", "make one with `tieout repair plan`")
        return _plan(row)

    def list(self, *, job_id: str | None = None, limit: int = 20) -> list[RepairPlan]:
        """The newest plans first, without drafts."""
        query = _newest().limit(limit)
        if job_id is not None:
            query = query.where(repairs.c.job_id == job_id)
        with self._database.read() as connection:
            return [_plan(row) for row in connection.execute(query)]

    def set_state(
        self,
        plan_id: str,
        state: RepairState,
        *,
        expected: Collection[RepairState] | None = None,
        error: str | None = None,
    ) -> RepairPlan:
        """Sets the state; raises unless the plan is in one of the `expected` states, so that only one process can."""
        change = update(repairs).where(repairs.c.id == plan_id)
        if expected is not None:
            change = change.where(repairs.c.state.in_(list(expected)))
        with self._database.write(survives_power_loss=True) as connection:
            moved = connection.execute(change.values(state=state, error=error, updated_at=now())).rowcount
            row = connection.execute(select(repairs).where(repairs.c.id == plan_id)).one_or_none()
            if row is None:
                raise UsageError(f"there is no repair plan {plan_id!r}")
            if not moved:
                raise UsageError(f"repair plan {plan_id} is {row.state}: it can't become {state}")
            return _plan(row)

    def too_large(self, change: RepairChange) -> str | None:
        """Why the store can't hold a change, if it can't: it stores rows whole."""
        if change.size * _LONGEST_ESCAPE < _SMALLEST_LIMIT:
            return None
        rows = [json_text(dict(row)) for row in (change.old_row, change.new_row) if row is not None]
        limit = self._database.row_limit
        # The statement of a MySQL server holds all of it, with an escape before every quote and backslash.
        size = sum(len(text) + text.count('"') + text.count("\\") for text in rows) + _ROOM_BESIDE
        if size <= limit.bytes:
            return None
        return f"it takes {size:,} bytes, and the meta store takes at most {limit.bytes:,} in a row ({limit.hint})"

    def changes(
        self,
        plan_id: str,
        *,
        state: ChangeState | None = None,
        newest_first: bool = False,
        rows: bool = True,
        chunk: int = CHUNK,
    ) -> Iterator[RepairChange]:
        """Lazily, in order (undo reads the newest first). The state of one may be set while others are read.

        Without `rows`, all but the old and the new ones.
        """
        c = repair_changes.c
        old, new = (func.coalesce(func.length(type_coerce(row, Text)), 0) for row in (c.old_row, c.new_row))
        ahead = select(c.sequence, (old + new).label("size")).where(c.repair_id == plan_id).limit(chunk)
        ahead = ahead.order_by(c.sequence.desc() if newest_first else c.sequence)
        if state is not None:
            ahead = ahead.where(c.state == state)
        columns = [column for column in repair_changes.columns if rows or column not in (c.old_row, c.new_row)]
        page = ahead
        while True:
            with self._database.read() as connection:
                found = connection.execute(page).all()
            for batch in in_batches(found, chunk, lambda each: int(each.size) if rows else 0):
                numbers = [each.sequence for each in batch]
                query = select(*columns).where(c.repair_id == plan_id, c.sequence.in_(numbers))
                with self._database.read() as connection:
                    there = {row.sequence: row for row in connection.execute(query)}
                yield from (_change(there[number]) for number in numbers if number in there)
            if len(found) < chunk:
                return
            last = found[-1].sequence
            page = ahead.where(c.sequence < last if newest_first else c.sequence > last)

    def count(self, plan_id: str) -> dict[ChangeState, int]:
        query = select(repair_changes.c.state, func.count()).where(repair_changes.c.repair_id == plan_id)
        with self._database.read() as connection:
            rows = connection.execute(query.group_by(repair_changes.c.state)).all()
        return {ChangeState(state): count for state, count in rows}

    def record(self, plan_id: str, outcomes: Sequence[ChangeOutcome]) -> None:
        """Stores what became of changes, all or nothing; repeating it changes nothing."""
        with_row = [outcome for outcome in outcomes if outcome.old_row is not None]
        without = [outcome for outcome in outcomes if outcome.old_row is None]
        change = update(repair_changes).where(
            repair_changes.c.repair_id == plan_id, repair_changes.c.sequence == bindparam("of_sequence")
        )
        with self._database.write(survives_power_loss=True) as connection:
            if without:
                connection.execute(change, [_outcome(each) for each in without])
            if with_row:
                found = [{**_outcome(each), "old_row": dict(each.old_row or {})} for each in with_row]
                connection.execute(change, found)
            connection.execute(update(repairs).where(repairs.c.id == plan_id).values(updated_at=now()))

    def _draft(self, job_id: str, table: str | None) -> str:
        at = now()
        plan_id = new_id("p", at)
        values = {"id": plan_id, "job_id": job_id, "table_name": table, "created_at": at, "updated_at": at}
        with self._database.write() as connection:
            connection.execute(insert(repairs).values(**values, state=RepairState.DRAFT))
        return plan_id


def _newest() -> Any:
    query = select(repairs).where(repairs.c.state != RepairState.DRAFT)
    return query.order_by(repairs.c.created_at.desc(), repairs.c.id.desc())


def _values(change: RepairChange) -> dict[str, Any]:
    return {
        "table_name": change.table,
        "action": change.action,
        "key_values": {name: stored(value) for name, value in change.key.items()},
        "old_row": None if change.old_row is None else dict(change.old_row),
        "new_row": None if change.new_row is None else dict(change.new_row),
        "state": change.state,
        "message": change.message,
        "details": None if change.details is None else dict(change.details),
    }


def _outcome(outcome: ChangeOutcome) -> dict[str, Any]:
    return {"of_sequence": outcome.sequence, "state": outcome.state, "message": outcome.message}


def _plan(row: Any) -> RepairPlan:
    return RepairPlan(
        id=row.id,
        job_id=row.job_id,
        state=RepairState(row.state),
        created_at=row.created_at,
        updated_at=row.updated_at,
        table=row.table_name,
        error=row.error,
    )


def _change(row: Any) -> RepairChange:
    return RepairChange(
        table=row.table_name,
        action=ChangeAction(row.action),
        key={name: restored(value) for name, value in row.key_values.items()},
        old_row=getattr(row, "old_row", None),
        new_row=getattr(row, "new_row", None),
        sequence=row.sequence,
        state=ChangeState(row.state),
        message=row.message,
        details=row.details,
    )


T = TypeVar("T")

BATCH_BYTES = 16 << 20


def in_batches(items: Iterable[T], most: int, size: Callable[[T], int]) -> Iterator[list[T]]:
    """Batches of at most `most` items and BATCH_BYTES. An item larger than that is a batch by itself."""
    batch: list[T] = []
    taken = 0
    for item in items:
        wanted = size(item)
        if batch and (len(batch) == most or taken + wanted > BATCH_BYTES):
            yield batch
            batch, taken = [], 0
        batch.append(item)
        taken += wanted
    if batch:
        yield batch
