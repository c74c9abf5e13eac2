"""A plan that ends differences as a file of statements, in as few transactions as the engine allows."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TextIO

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.repair import Refused
from tieout.meta import ChangeAction, ChangeState, MetaStore, RepairPlan
from tieout.repair.from_differences.execute import Step, held, wanted
from tieout.repair.from_differences.tables import Sides, opened, verification
from tieout.repair.sql_file import SqlFile


def repair_statements(
    store: MetaStore, plan_ref: str, source_url: EndpointUrl, target_url: EndpointUrl, out: TextIO
) -> int:
    """Writes the planned changes that are not done yet, in the target's dialect; returns how many.

    The file rechecks nothing: it changes rows by their key, whatever they hold by then.
    """
    plan = store.repairs.get(plan_ref)
    job = verification(store, plan.job_id)
    with opened(job, source_url, target_url) as sides:
        counts = store.repairs.count(plan.id)
        planned, skipped = counts.get(ChangeState.PLANNED, 0), counts.get(ChangeState.SKIPPED, 0)
        file, session, written = SqlFile(out), sides.writer.statements, 0
        file.heading(
            plan,
            job,
            f"source: {job.source}",
            f"target: {job.target}",
            f"rows to change: {planned:,}; left alone: {skipped:,}",
            ("A transaction for the deletes of each table" if session.between_tables else "One transaction")
            + ": run it with a client that stops at the first error.",
        )
        file.statements([*session.opening, *session.begin])
        deletes_from: str | None = None
        for step, statement in _Ordered(store, plan, sides).statements():
            if step.change.action is ChangeAction.DELETE and step.change.table != deletes_from:
                file.statements(session.between_tables if deletes_from is not None else ())
                deletes_from = step.change.table
            if isinstance(statement, Refused):
                file.refused(statement, step.change)
            else:
                file.statements([statement])
                written += 1
        file.statements(["COMMIT", *session.closing])
        return written


class _Ordered:
    """The steps of a plan in an order in which one transaction can carry them out."""

    def __init__(self, store: MetaStore, plan: RepairPlan, sides: Sides) -> None:
        self._store = store
        self._plan = plan
        self._sides = sides
        self._statements = sides.writer.statements
        steps = self._steps(ChangeAction.UPDATE)
        # Remembers only updates of unique columns, and of those only which row gives up which value.
        self._holders: dict[Hashable, int] = {value: step.change.sequence for step in steps for value in held(step)}

    def statements(self) -> Iterator[tuple[Step, str | Refused]]:
        """Deletes, updates, inserts. An update to a value that another updated row has is a delete and an insert."""
        yield from self._plain(ChangeAction.DELETE)
        exchanged = [(step, self._exchange(step)) for step in self._steps(ChangeAction.UPDATE) if self._collides(step)]
        for step, both in exchanged:
            yield step, both if isinstance(both, Refused) else both[0]
        yield from self._plain(ChangeAction.UPDATE)
        for step, both in exchanged:
            if not isinstance(both, Refused):
                yield step, both[1]
        yield from self._plain(ChangeAction.INSERT)

    def _steps(self, action: ChangeAction) -> Iterator[Step]:
        for change in self._store.repairs.changes(self._plan.id, state=ChangeState.PLANNED):
            table = self._sides.tables.get(change.table)
            if change.action is action and table is not None:
                yield Step(table, change)

    def _plain(self, action: ChangeAction) -> Iterator[tuple[Step, str | Refused]]:
        for step in self._steps(action):
            if action is ChangeAction.UPDATE and self._collides(step):
                continue
            try:
                yield step, step.statement(self._statements)
            except Refused as refusal:
                yield step, refusal

    def _collides(self, step: Step) -> bool:
        own = step.change.sequence
        return any(self._holders.get(value, own) != own for value in wanted(step))

    def _exchange(self, step: Step) -> tuple[str, str] | Refused:
        table = step.table
        try:
            removed = self._statements.delete(table.table, step.target_key, table.losing)
            return removed, self._statements.insert(table.table, step.whole)
        except Refused as refusal:
            return refusal
