"""A plan as a file of statements, for those who want to read before they run."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TextIO

from tieout.config.urls import EndpointUrl
from tieout.connectors.writing import Refused
from tieout.meta import ChangeAction, ChangeState, MetaStore, RepairPlan
from tieout.verify.repair.exchange import held, wanted
from tieout.verify.repair.sides import Sides, opened, verification
from tieout.verify.repair.steps import Step


def repair_statements(
    store: MetaStore, plan_ref: str, source_url: EndpointUrl, target_url: EndpointUrl, out: TextIO
) -> int:
    """Writes what is planned and not done yet, in the target's dialect, in one transaction; returns how many rows.

    The file looks at nothing again: it changes rows by their key, whatever they hold by then.
    """
    plan = store.repairs.get(plan_ref)
    job = verification(store, plan.job_id)
    with opened(job, source_url, target_url) as sides:
        counts = store.repairs.count(plan.id)
        planned = counts.get(ChangeState.PLANNED, 0)
        for line in (
            f"Tieout repair plan {plan.id} of verification {job.id}, made {plan.created_at:%Y-%m-%d %H:%M:%S} UTC",
            f"source: {job.source}",
            f"target: {job.target}",
            f"rows to change: {planned:,}; left alone: {counts.get(ChangeState.SKIPPED, 0):,}",
            "One transaction: run it with a client that stops at the first error.",
        ):
            out.write(_comment(line))
        for statement in sides.writer.statements.opening():
            out.write(f"{statement};\n")
        written = sum(_write(step, statement, out) for step, statement in _File(store, plan, sides).statements())
        for statement in sides.writer.statements.closing():
            out.write(f"{statement};\n")
        return written


def _write(step: Step, statement: str | Refused, out: TextIO) -> int:
    if isinstance(statement, Refused):
        key = ", ".join(f"{name} = {value}" for name, value in step.change.key.items())
        out.write(_comment(f"NOT WRITTEN: {step.change.action} {step.change.table} ({key}): {statement.message}"))
        return 0
    out.write(f"{statement};\n")
    return 1


class _File:
    def __init__(self, store: MetaStore, plan: RepairPlan, sides: Sides) -> None:
        self._store = store
        self._plan = plan
        self._sides = sides
        self._in_the_way = self._values_given_up()

    def statements(self) -> Iterator[tuple[Step, str | Refused]]:
        """Deletes, updates, inserts. An update to a value that another updated row still has is a delete and an insert."""
        statements = self._sides.writer.statements
        for step in self._steps(ChangeAction.DELETE):
            yield step, self._said(lambda step=step: step.statement(statements))
        for step in self._steps(ChangeAction.UPDATE):
            if self._exchanges(step):
                yield step, self._said(
                    lambda step=step: statements.delete(step.table.table, step.target_key, step.table.losing)
                )
        for step in self._steps(ChangeAction.UPDATE):
            if not self._exchanges(step):
                yield step, self._said(lambda step=step: step.statement(statements))
        for step in self._steps(ChangeAction.UPDATE):
            if self._exchanges(step):
                yield step, self._said(lambda step=step: statements.insert(step.table.table, step.whole))
        for step in self._steps(ChangeAction.INSERT):
            yield step, self._said(lambda step=step: step.statement(statements))
