"""A plan that ends failures as a file of statements, a transaction for each change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.repair import Refused
from tieout.meta import ChangeAction, ChangeState, MetaStore, RepairChange, RepairPlan
from tieout.repair.from_failures.change_rows import statements_of
from tieout.repair.from_failures.database import Database, check_job, opened
from tieout.repair.from_failures.details import details_of
from tieout.repair.from_failures.execute import copy_of_entry
from tieout.repair.quarantine import Copy, Quarantine
from tieout.repair.rows import row_table
from tieout.repair.sql_file import SqlFile, shown


def check_repair_statements(store: MetaStore, plan_ref: str, url: EndpointUrl, out: TextIO) -> int:
    """Writes the planned changes that are not done yet, in the order of execution; returns how many.

    The file rechecks nothing: it changes rows by their key, whatever they hold by then.
    """
    plan = store.repairs.get(plan_ref)
    job = check_job(store, plan.job_id)
    with opened(job, url) as database:
        counts = store.repairs.count(plan.id)
        left = counts.get(ChangeState.SKIPPED, 0) + counts.get(ChangeState.UNDECIDED, 0)
        planned = counts.get(ChangeState.PLANNED, 0)
        file = SqlFile(out)
        file.heading(plan, job, f"database: {job.source}", f"changes: {planned:,}; left alone: {left:,}")
        return _Changes(store, plan, database, file).write()


class _Changes:
    def __init__(self, store: MetaStore, plan: RepairPlan, database: Database, file: SqlFile) -> None:
        self._store = store
        self._plan = plan
        self._database = database
        self._repairer = database.repairer
        self._schema = database.endpoint.default_schema()
        self._quarantine = Quarantine(self._repairer, self._schema, plan.id)
        self._file = file

    def write(self) -> int:
        written = 0
        session = self._repairer.statements
        self._file.statements([*session.opening, self._repairer.make_quarantine(self._schema)])
        for change in self._store.repairs.changes(self._plan.id, state=ChangeState.PLANNED):
            self._file.comment(shown(change))
            try:
                self._file.statements(list(self._statements(change)))
                written += 1
            except Refused as refusal:
                self._file.refused(refusal)
        self._file.statements(session.closing)
        return written

    def _statements(self, change: RepairChange) -> Iterator[str]:
        details = details_of(change)
        if change.action in (ChangeAction.REBUILD, ChangeAction.ADVANCE):
            for part, entry in enumerate(details.entries, 1):
                yield self._quarantine.statement(copy_of_entry(change, part, entry))
            yield from details.statements
            return
        table = self._database.table(change.table)
        rows = row_table(table, self._repairer, tuple(change.key)) if table else "the table is not there any more"
        if isinstance(rows, str):
            raise Refused(rows)
        what = "inserted" if change.action is ChangeAction.INSERT else "row"
        yield from self._repairer.statements.begin
        yield self._quarantine.statement(
            Copy(change.sequence, 0, details.failures[0], what, change.table, change.key, change.old_row)
        )
        yield from statements_of(change, rows, self._repairer)
        yield "COMMIT"
