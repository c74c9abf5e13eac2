"""Undoes a repair of what a check found: restores rows and values from quarantine.

Undo works with foreign keys off. So it looks for rows that refer to one that it would remove: they would be orphans.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.endpoint import Scan, ScanColumn
from tieout.connectors.protocols.repair import Reference, Refused, Repairer, Row
from tieout.meta import ChangeAction, ChangeState, MetaStore, RepairChange, RepairPlan, RepairState
from tieout.model.keys import Key
from tieout.model.progress_events import Listener, silence
from tieout.model.repair import RepairResult
from tieout.model.tables import Table
from tieout.repair.execute import BACKWARDS, End, Outcome, Passes, messages_of, running
from tieout.repair.from_failures.change_rows import Ended, transact
from tieout.repair.from_failures.database import Database, check_job, opened
from tieout.repair.from_failures.details import details_of
from tieout.repair.from_failures.triggers import Triggers
from tieout.repair.quarantine import Copy, Quarantine
from tieout.repair.rows import RowTable, Unwritable, found_by, look_up, row_table
from tieout.wording import plural

_KEPT = {
    ChangeAction.REBUILD: "kept: the rebuilt index is right, and its old entries are in quarantine",
    ChangeAction.ADVANCE: "kept: a sequence that is ahead does no harm",
}
UNDO = replace(BACKWARDS, takes=(ChangeState.APPLIED, ChangeState.PLANNED))
"""Quarantine also knows of changes that were made but not recorded because of a crash."""
_COMPUTED = "kept: a generated value can't be written"


def undo_check_repair(
    store: MetaStore, plan_ref: str, url: EndpointUrl, *, listener: Listener = silence
) -> RepairResult:
    """Restores what the plan has changed, the last change first, where it is still as the repair left it."""
    plan = store.repairs.get(plan_ref)
    job = check_job(store, plan.job_id)
    expected = (RepairState.APPLYING, RepairState.APPLIED, RepairState.FAILED, RepairState.UNDOING, RepairState.UNDONE)
    with (
        running(store, plan, BACKWARDS, expected, RepairState.UNDOING) as work,
        opened(job, url, enforce_constraints=False) as database,
    ):
        undoing = Undoing(plan, database)
        passes = Passes(store, plan, UNDO, undoing, work.between(listener))
        passes.run()
        done = store.repairs.count(plan.id).get(ChangeState.UNDONE, 0)
        result = RepairResult(
            plan.id,
            plan.job_id,
            "undo",
            done,
            passes.left[End.CHANGED],
            passes.left[End.REFUSED],
            messages=messages_of(store, plan, ChangeState.APPLIED),
            kept=passes.left[End.KEPT],
            notes=tuple(undoing.notes),
        )
        return work.finish(result)


@dataclass
class Undoing:
    """Restores rows, each in a transaction of its own."""

    plan: RepairPlan
    database: Database
    alternates: bool = False
    notes: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        repairer = self.database.repairer
        self._triggers = Triggers(repairer)
        self._quarantine = Quarantine(repairer, self.database.endpoint.default_schema(), self.plan.id)

    def attempt(self, changes: Iterator[RepairChange]) -> Iterator[Sequence[Outcome]]:
        for change in changes:
            end, message = self._undo(change)
            if change.state is ChangeState.PLANNED and end not in (End.DONE, End.ALREADY):
                continue  # it was never made
            left = message and end in (End.CHANGED, End.REFUSED)
            yield [Outcome(change, end, f"not undone: {message}" if left else message)]

    def unblock(self) -> Iterator[Sequence[Outcome]]:
        return iter(())

    def _undo(self, change: RepairChange) -> Ended:
        why = _KEPT.get(change.action)
        if details_of(change).touch and not change.new_row:
            why = _COMPUTED
        if why is not None or change.action is ChangeAction.NONE:
            return End.KEPT, why or change.message
        table = self.database.table(change.table)
        rows = row_table(table, self.database.repairer, tuple(change.key)) if table else "the table is gone"
        if isinstance(rows, str):
            return End.REFUSED, rows
        self._quarantine.make()
        return transact(self.database.repairer, lambda: self._attempt(change, rows))

    def _attempt(self, change: RepairChange, rows: RowTable) -> Ended:
        copy = self._quarantine.kept(change.sequence).get(0)
        if copy is None:
            return End.REFUSED, "quarantine has no copy of it"
        if copy.undone:
            return End.ALREADY, None
        runs = self._triggers.at_undo(rows.table, change)
        if runs is not None:
            return End.REFUSED, runs
        reason = self._has_changed(change, copy, rows) or referred_to(self.database, change, copy, rows)
        if reason is not None:
            return End.CHANGED, reason
        self._put_back(change, copy, rows)
        self._quarantine.mark_undone(copy)
        return End.DONE, None

    def _has_changed(self, change: RepairChange, copy: Copy, rows: RowTable) -> str | None:
        """Why the row is not as the repair left it."""
        by_place = not set(rows.key) <= set(rows.exact)
        if by_place:  # a deleted row that had no key: no other row can have taken its position
            return None
        key = rows.key_of(change.key)
        assert key is not None, "it was changed by it"
        found = rows.find(self.database.repairer, [key], lock=True)
        places = found.places.get(key, [])
        try:
            there = [rows.exact_row(found, place) for place in places]
        except Unwritable as reason:
            return str(reason)
        left = [] if copy.left is None else [copy.left]
        return None if there == left else "the row has changed since the repair"

    def _put_back(self, change: RepairChange, copy: Copy, rows: RowTable) -> None:
        repairer = self.database.repairer
        statement = self._statement(change, copy, rows)
        try:
            changed = repairer.execute(statement)
        except Refused:
            suspension = repairer.suspension(rows.table, details_of(change).constraints)
            if not suspension.before:
                raise
            for each in suspension.before:
                repairer.execute(each)
            changed = repairer.execute(statement)
            for each in suspension.after:
                repairer.execute(each)
            if suspension.note:
                self.notes[suspension.note] = None
        if changed != 1:
            raise Refused(f"{changed} rows would be changed")

    def _statement(self, change: RepairChange, copy: Copy, rows: RowTable) -> str:
        statements = self.database.repairer.statements
        if change.action is ChangeAction.INSERT:
            return statements.delete(rows.table, self._key(change, copy.left))
        if change.action is ChangeAction.DELETE:
            return statements.insert(rows.table, copy.values or {})
        old, left = copy.values or {}, copy.left or {}
        generated = {column.name for column in rows.table.columns if column.generated}
        differs: Row = {n: value for n, value in old.items() if value != left.get(n) and n not in generated}
        return statements.update(rows.table, self._key(change, copy.left), differs or old)

    @staticmethod
    def _key(change: RepairChange, row: Row | None) -> Row:
        return {name: (row or {}).get(name, text) for name, text in change.key.items()}


def referred_to(database: Database, change: RepairChange, copy: Copy, rows: RowTable) -> str | None:
    """Why undo must leave a change: rows refer to what it left, other than those that the failure was about."""
    if change.action is ChangeAction.DELETE:
        return None
    row = _row(change, rows, database.repairer)
    for reference in database.repairer.references(rows.table):
        if change.action is ChangeAction.UPDATE and _stays(reference, copy):
            continue
        values = [row.get(name, (copy.left or {}).get(name)) for name in reference.to]
        if None not in values:
            reason = _others(database, change, reference, tuple(str(value) for value in values))
            if reason is not None:
                return reason
    return None


def _row(change: RepairChange, rows: RowTable, repairer: Repairer) -> Row:
    """The row as failures show it: rows that refer to it may have another type, and write it differently."""
    key = rows.key_of(change.key)
    found = rows.find(repairer, [] if key is None else [key])
    return rows.shown_row(found, 0) if len(found.rows) else {}


def _stays(reference: Reference, copy: Copy) -> bool:
    before, after = copy.values or {}, copy.left or {}
    return all(before.get(name) == after.get(name) for name in reference.to)


def _others(database: Database, change: RepairChange, reference: Reference, values: Key) -> str | None:
    child = database.table(str(reference.child))
    if child is None:
        return f"can't read whether rows of {reference.child} refer to it"
    orphans = _orphans(change, str(reference.child))
    names = tuple(orphans[0]) if orphans else child.key
    scan = _scan(child, reference.columns, names, database.repairer)
    # With a lock it reads what others have committed by now, not what the transaction saw at its beginning.
    found = look_up(scan, [values], lambda some: database.repairer.rows(scan, some, lock=True))
    if values in found.failed:
        return f"can't read whether rows of {reference.child} refer to it: {found.failed[values]}"
    places = range(len(reference.columns), len(scan.columns))
    seen = [{n: found.rows.text(row, p) for n, p in zip(names, places, strict=True)} for row in range(len(found.rows))]
    others = [key for key in seen if key not in orphans]
    if not others:
        return None
    which = " ".join(f"{name}={value}" for name, value in others[0].items())
    rows = f"{plural(len(others), 'row')} of {reference.child}"
    return (
        f"{rows} would lose what {'it refers' if len(others) == 1 else 'they refer'} to{f': {which}' if which else ''}"
    )


def _orphans(change: RepairChange, table: str) -> list[Row]:
    """The rows for which the repair inserted a parent: without it, they are as they were before."""
    return [child.key for child in details_of(change).children if child.table == table]


def _scan(table: Table, columns: Sequence[str], names: Sequence[str], repairer: Repairer) -> Scan:
    place = repairer.address_column(table)
    if place is not None and place.name in names and place.name not in table.column_names:
        table = replace(table, columns=(*table.columns, place))
    read = [table.column(name) for name in (*columns, *names)]
    return Scan(table, tuple(ScanColumn(column, found_by(column)) for column in read), tuple(range(len(columns))))
