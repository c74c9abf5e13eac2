"""Applies a plan that ends failures: rows, indexes and sequences, in passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.repair import Refused
from tieout.meta import ChangeAction, ChangeState, Job, MetaStore, RepairChange, RepairPlan, RepairState
from tieout.model.progress_events import Listener, silence
from tieout.model.repair import RepairResult
from tieout.model.tables import Table
from tieout.repair.execute import FORWARDS, End, Outcome, Passes, messages_of, restate, running
from tieout.repair.from_failures.change_rows import Ended, RowChanges, transact
from tieout.repair.from_failures.database import Database, check_job, opened
from tieout.repair.from_failures.details import IndexEntry, details_of
from tieout.repair.quarantine import Copy, Quarantine

BATCH = 200
"""Entries to copy in one transaction."""


def apply_check_repair(
    store: MetaStore, plan_ref: str, url: EndpointUrl, *, listener: Listener = silence
) -> RepairResult:
    """Changes the database as planned; leaves alone what has changed since. Applied again, a plan goes on."""
    plan = store.repairs.get(plan_ref)
    job = check_job(store, plan.job_id)
    expected = (RepairState.PLANNED, RepairState.APPLYING, RepairState.APPLIED, RepairState.FAILED)
    with running(store, plan, FORWARDS, expected, RepairState.APPLYING) as work, opened(job, url) as database:
        restate(store, plan, ChangeState.FAILED, ChangeState.PLANNED)
        Passes(store, plan, FORWARDS, Repairing(store, plan, database), work.between(listener)).run()
        # What is still planned after the last pass was refused; its message says why.
        restate(store, plan, ChangeState.PLANNED, ChangeState.FAILED)
        return work.finish(_result(store, plan, job))


def _result(store: MetaStore, plan: RepairPlan, job: Job) -> RepairResult:
    counts = store.repairs.count(plan.id)
    messages = [messages_of(store, plan, state) for state in (ChangeState.FAILED, ChangeState.SKIPPED)]
    return RepairResult(
        plan.id,
        plan.job_id,
        "apply",
        done=counts.get(ChangeState.APPLIED, 0),
        skipped=counts.get(ChangeState.SKIPPED, 0),
        failed=counts.get(ChangeState.FAILED, 0),
        undecided=counts.get(ChangeState.UNDECIDED, 0),
        messages=(*messages[0], *messages[1]),
        notes=(f'to see whether the failures are gone: tieout check {job.source} "{job.request["statement"]}"',),
    )


@dataclass
class Repairing:
    """Changes rows, indexes and sequences, each in a transaction of its own."""

    store: MetaStore
    plan: RepairPlan
    database: Database
    alternates: bool = False  # parents come before those that refer to them
    _doubted: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._quarantine = Quarantine(self.database.repairer, self.database.endpoint.default_schema(), self.plan.id)
        self._rows = RowChanges(self.database, self._quarantine, lambda table: table in self._doubted)

    def attempt(self, changes: Iterator[RepairChange]) -> Iterator[Sequence[Outcome]]:
        planned = list(changes)
        for change in planned:
            self._rows.expect(change)
        self._doubted = self._unrepaired()
        for change in planned:
            yield [Outcome(change, *self._carry_out(change))]
            if change.action is ChangeAction.REBUILD:
                self._doubted = self._unrepaired()

    def unblock(self) -> Iterator[Sequence[Outcome]]:
        return iter(())

    def _unrepaired(self) -> set[str]:
        """Tables with an index that is wrong, as far as the plan knows."""
        changes = self.store.repairs.changes(self.plan.id)
        wrong = [c for c in changes if c.state is not ChangeState.APPLIED and details_of(c).indexes]
        return {change.table for change in wrong}

    def _carry_out(self, change: RepairChange) -> Ended:
        if change.action is ChangeAction.REBUILD:
            return self._rebuild(change)
        if change.action is ChangeAction.ADVANCE:
            return self._advance(change)
        return self._rows.carry_out(change)

    def _rebuild(self, change: RepairChange) -> Ended:
        """Touches no row, and copies old entries to quarantine first, so that doing it twice does no harm."""
        table = self.database.table(change.table)
        if table is None:
            return End.REFUSED, "the table is not there any more"
        copied = self._copy_entries(change)
        if copied[0] is not End.DONE:
            return copied
        try:
            # Several indexes: the engine repairs all indexes of a table at once.
            self.database.repairer.rebuild(table, details_of(change).indexes[0])
        except Refused as refusal:
            duplicates = self._duplicates(table, details_of(change).indexes) if refusal.collides else ""
            return End.REFUSED, refusal.message + duplicates
        return End.DONE, None

    def _duplicates(self, table: Table, names: Sequence[str]) -> str:
        """The rows that keep an index from being unique: somebody has to decide about them first."""
        found = [
            f"{', '.join(index.columns)} = {', '.join(values)}"
            for index in table.indexes
            if index.name in names and index.unique and set(index.columns) <= set(table.column_names)
            for values in self.database.repairer.duplicates(table, index.columns)
        ]
        return f"; several rows have {'; '.join(found)}: check the constraints, and decide about them" if found else ""

    def _copy_entries(self, change: RepairChange) -> Ended:
        entries = details_of(change).entries
        if not entries:
            return End.DONE, None
        self._quarantine.make()
        for start in range(0, len(entries), BATCH):
            some = {1 + start + number: each for number, each in enumerate(entries[start : start + BATCH])}

            def copy(parts: dict[int, IndexEntry] = some) -> Ended:
                known = self._quarantine.kept(change.sequence, list(parts))
                for part, each in parts.items():
                    if part not in known:
                        self._quarantine.keep(copy_of_entry(change, part, each))
                return End.DONE, None

            end = transact(self.database.repairer, copy)
            if end[0] is not End.DONE:
                return end
        return End.DONE, None

    def _advance(self, change: RepairChange) -> Ended:
        try:
            for statement in details_of(change).statements:
                self.database.repairer.run(statement)
        except Refused as refusal:
            return End.REFUSED, refusal.message
        return End.DONE, None


def copy_of_entry(change: RepairChange, part: int, entry: IndexEntry) -> Copy:
    key = {"index": entry.index, "place": entry.address}
    return Copy(change.sequence, part, entry.failure, "entry", change.table, key, entry.values)
