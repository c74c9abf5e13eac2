"""A plan that mends what a check found, as statements: for those who want to read before they run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TextIO

from tieout.config.urls import EndpointUrl
from tieout.connectors.writing import Refused
from tieout.meta import ChangeAction, ChangeState, MetaStore, RepairChange, RepairPlan
from tieout.repair.from_differences.sqlfile import comment
from tieout.repair.from_failures.changing import statements_of
from tieout.repair.from_failures.database import Database, check_job, opened
from tieout.repair.from_failures.rows import row_table
from tieout.repair.quarantine import Copy, Quarantine


def mend_statements(store: MetaStore, plan_ref: str, url: EndpointUrl, out: TextIO) -> int:
    """Writes what is planned and not done yet, in the order in which it would be run; returns how many changes.

    The file looks at nothing again: it changes rows by their key, whatever they hold by then.
    """
    plan = store.repairs.get(plan_ref)
    job = check_job(store, plan.job_id)
    with opened(job, url) as database:
        counts = store.repairs.count(plan.id)
        left = counts.get(ChangeState.SKIPPED, 0) + counts.get(ChangeState.UNDECIDED, 0)
        for line in (
            f"Tieout repair plan {plan.id} of check {job.id}, made {plan.created_at:%Y-%m-%d %H:%M:%S} UTC",
            f"database: {job.source}",
            f"changes: {counts.get(ChangeState.PLANNED, 0):,}; left alone: {left:,}",
        ):
            out.write(comment(line))
        return _File(store, plan, database, out).write()


class _File:
    def __init__(self, store: MetaStore, plan: RepairPlan, database: Database, out: TextIO) -> None:
        self._store = store
        self._plan = plan
        self._database = database
        self._repairer = database.repairer
        self._schema = database.endpoint.default_schema()
        self._quarantine = Quarantine(self._repairer, self._schema, plan.id)
        self._out = out

    def write(self) -> int:
        written = 0
        session = self._repairer.statements
        self._run([*session.opening(), self._repairer.make_quarantine(self._schema)])
        for change in self._store.repairs.changes(self._plan.id, state=ChangeState.PLANNED):
            key = ", ".join(f"{name} = {value}" for name, value in change.key.items())
            self._out.write(comment(f"{change.action} {change.table} ({key})"))
            try:
                self._run(list(self._statements(change)))
                written += 1
            except Refused as refusal:
                self._out.write(comment(f"NOT WRITTEN: {refusal.message}"))
        self._run(session.closing())
        return written

    def _run(self, statements: Sequence[str]) -> None:
        self._out.writelines(f"{statement};\n" for statement in statements)

    def _statements(self, change: RepairChange) -> Iterator[str]:
        details = change.details or {}
        if change.action in (ChangeAction.REBUILD, ChangeAction.ADVANCE):
            for part, entry in enumerate(details.get("entries", ()), 1):
                key = {"index": entry["index"], "place": entry["place"]}
                yield self._quarantine.statement(
                    Copy(change.sequence, part, entry["failure"], "entry", change.table, key, entry["values"])
                )
            yield from details["statements"]
            return
        table = self._database.table(change.table)
        rows = row_table(table, self._repairer, tuple(change.key)) if table else "the table is not there any more"
        if isinstance(rows, str):
            raise Refused(rows)
        what = "inserted" if change.action is ChangeAction.INSERT else "row"
        yield from self._repairer.statements.begin()
        yield self._quarantine.statement(
            Copy(change.sequence, 0, details["failures"][0], what, change.table, change.key, change.old_row)
        )
        yield from statements_of(change, rows, self._repairer)
        yield "COMMIT"
