"""Runs a CHECK statement as a job of the meta store."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import chain

from pyspark.sql import SparkSession

from tieout.checks.changed.incremental_run import OF_ROWS, ChangedRound
from tieout.checks.changed.log_batches import ChangedLog, scope_of
from tieout.checks.checked import Checked, Unit
from tieout.checks.engine_checker import EngineChecks
from tieout.checks.indexes.checks import ORDER_UNKNOWN
from tieout.checks.options import CheckOptions
from tieout.checks.planner import PlannedTable, defined, plan
from tieout.checks.progress import Ledger
from tieout.checks.schema import SchemaChecks
from tieout.checks.table_checks import TableChecks
from tieout.connectors.protocols.check import Checker
from tieout.connectors.protocols.move import Source
from tieout.meta import Job, JobKind, MetaStore
from tieout.model.check_statements import CheckStatement, Family
from tieout.model.documents import check_document
from tieout.model.failures import ChangedSpan, CheckReport, Failure, Status
from tieout.model.progress_events import Listener, silence
from tieout.model.redaction import NOTE, Redaction, values_hidden
from tieout.runtime.control import JobControl
from tieout.runtime.job import running
from tieout.wording import plural


@dataclass
class CheckJob:
    """One statement on one open database. `shown` is its URL without secrets; `source` opens its change log."""

    store: MetaStore
    statement: CheckStatement
    checker: Checker
    shown: str
    options: CheckOptions
    limit: int | None
    source: Callable[[], Source]
    listener: Listener = silence

    def run(self, session: Callable[[], SparkSession], resume: str | None = None) -> CheckReport:
        """Plans and runs the checks; with `resume`, those that this job has not finished. However it ends, the store
        records the job's state.
        """
        job = self.store.jobs.resume(resume) if resume is not None else self._create()
        hidden = values_hidden(self.options.redact_values)
        with running(self.store.jobs, job.id), hidden:
            report = self._made(job, session)
            self.store.jobs.finish(job.id, verdict=report.verdict.value, result=check_document(report))
            return report

    def follow(self, session: Callable[[], SparkSession], every: float, show: Callable[[CheckReport], None]) -> None:
        """Checks what changed again and again as one job, until somebody stops it."""
        job = self._create(every=every)
        with running(self.store.jobs, job.id):
            while True:
                show(self._made(job, session))
                JobControl(self.store.jobs, job.id).wait(every)

    def _made(self, job: Job, session: Callable[[], SparkSession]) -> CheckReport:
        started, began = datetime.now(UTC), time.monotonic()
        planned = plan(self.statement, self.checker)
        keeps = not self.statement.changed
        redaction = Redaction() if self.options.redact_values else None
        control = JobControl(self.store.jobs, job.id)
        ledger = Ledger(self.store, job.id, self.listener, control.wait, keeps, redaction)
        checks = TableChecks(session(), self.checker, self.options, ledger)
        checked: list[Checked] = []
        spans: list[ChangedSpan] = []
        engine = EngineChecks(self.checker, self.options, ledger.rest)
        if self.statement.changed:
            of_tables = self._changed(job, checks, planned, spans)
        else:
            of_tables = chain(self._whole(checks, planned), engine.run(planned))
        for found in self._checked(checks, of_tables):
            each = found.detected_now()
            shown = each.shown(redaction)
            checked.append(shown)
            # A redacted failure can't be recognised; it was recorded before its unit was stored.
            if each.result.status is not Status.NOT_CHECKED and not (each.kept and redaction):
                self.store.failures.record(job.id, self.shown, each.result, each.failures, shown.failures)
        notes = [*engine.notes, *_unordered(checked), *([NOTE] if redaction else ())]
        report = self._report(job, checked, started, time.monotonic() - began, notes)
        return replace(report, changed=tuple(spans))

    def _checked(self, checks: TableChecks, of_tables: Iterator[Checked]) -> Iterator[Checked]:
        """Checks definitions first: they may explain why something else can't be read."""
        left_out = self.statement.changed and self.statement.families & OF_ROWS
        if Family.SCHEMA in self.statement.families and not left_out:
            yield from checks.ledger.checked((self.checker.database,), Family.SCHEMA, self._definitions)
        yield from of_tables

    def _changed(
        self, job: Job, checks: TableChecks, planned: Sequence[PlannedTable], reported: list[ChangedSpan]
    ) -> Iterator[Checked]:
        def known(family: Family, table: str, name: str | None) -> Sequence[Failure]:
            return self.store.failures.known(self.shown, family.value, table, name)

        log = ChangedLog(self.store, job.id, self.shown, scope_of(self.statement), self.source(), self.checker)
        yield from ChangedRound(log, checks, known).run(planned, reported)

    def _whole(self, checks: TableChecks, planned: Sequence[PlannedTable]) -> Iterator[Checked]:
        for table in planned:
            checks.ledger.rest(0)
            yield from checks.run(table)

    def _definitions(self, unit: Unit) -> Iterator[Checked]:
        names = defined(self.statement, self.checker)
        yield from SchemaChecks(self.checker, self.options, unit.rest).run(names)

    def _create(self, **more: object) -> Job:
        request = {"statement": self.statement.text, "limit": self.limit, **asdict(self.options), **more}
        return self.store.jobs.create(JobKind.CHECK, source=self.shown, target=None, request=request)

    def _report(
        self, job: Job, checked: list[Checked], started: datetime, seconds: float, notes: Sequence[str]
    ) -> CheckReport:
        failures = [failure for each in checked for failure in each.failures]
        listed = failures if self.limit is None else failures[: self.limit]
        return CheckReport(
            job.id,
            self.shown,
            self.statement.text,
            started,
            seconds,
            tuple(each.result for each in checked),
            tuple(listed),
            truncated=len(listed) < len(failures),
            notes=tuple(notes),
        )


def _unordered(checked: Sequence[Checked]) -> Iterator[str]:
    """One note for all indexes about what their `ok` does not cover."""
    without = [each.result.name for each in checked if each.result.evidence and ORDER_UNKNOWN in each.result.evidence]
    if without:
        yield f"the order of keys was not checked in {plural(len(without), 'index')}"
