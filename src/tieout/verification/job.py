"""Runs a verification as a job of the meta store: plans, digests ranges, compares rows where digests differ, judges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import SparkSession

from tieout.connectors.protocols.endpoint import Endpoint
from tieout.errors import TieoutError
from tieout.meta import Job, JobKind, MetaStore
from tieout.model.documents import table_document, verification_document
from tieout.model.progress_events import Listener, Progress
from tieout.model.redaction import NOTE, values_hidden
from tieout.model.requests import VerifyOptions, VerifyRequest
from tieout.model.results import VerificationResult
from tieout.runtime.control import JobControl
from tieout.runtime.dispatch import slots, slots_of_sides
from tieout.runtime.job import running
from tieout.verification.digest_stage import CountStage, DigestStage
from tieout.verification.judge import now, table_results, verification_result
from tieout.verification.plan import PlannedTable
from tieout.verification.plan_tables import left_out, plan_tables, schemas_left_out
from tieout.verification.resume import check_same_plan, pair_names, plan_document, with_buckets_of
from tieout.verification.row_stage import RowStage
from tieout.verification.table_state import Ledger, TableRun, start_run


@dataclass
class VerificationJob:
    """One request on two open endpoints. `document` is the request as kept, `shown` the URLs without secrets."""

    store: MetaStore
    request: VerifyRequest
    endpoints: tuple[Endpoint, Endpoint]
    shown: tuple[str, str]
    document: Mapping[str, Any]
    limits: tuple[int, int]
    listener: Listener

    def run(self, session: Callable[[], SparkSession], resume: str | None = None) -> VerificationResult:
        """Plans, verifies and judges. However it ends, the store records the job's state."""
        started = now()
        job = self._begin(resume)
        redacts = self.request.options.redact_values
        with running(self.store.jobs, job.id), values_hidden(redacts):
            positions = self.endpoints[0].position(), self.endpoints[1].position()
            planned = self._plan(job, resume is not None, session)
            spark = session()
            ledger, control = Ledger(self.store, job.id), JobControl(self.store.jobs, job.id)
            verifier = Verifier(spark, self.request.options, ledger, control, self.listener, self.limits)
            runs = verifier.run(planned, resume=resume is not None)
            tables = table_results(planned, runs, positions)
            result = verification_result(self.request, job.id, self.shown, started, tables, runs)
            for ordinal, table in enumerate(tables):
                self.store.tables.finish(job.id, ordinal, table_document(table))
            untested = [endpoint.capabilities.untested for endpoint in self.endpoints if endpoint.capabilities.untested]
            notes = [*(f"Tieout's tests do not cover {what}" for what in untested), *([NOTE] if redacts else ())]
            if own := left_out(*self.endpoints, self.request):
                notes.append(f"skipped tables whose names are reserved for Tieout: {', '.join(map(str, own))}")
            if schemas := schemas_left_out(self.endpoints[0], self.request):
                notes.append(
                    f"compared tables of schema {self.endpoints[0].default_schema()} alone; the source has tables in"
                    f" {', '.join(schemas)}, too: name them with --table 'SCHEMA.*', or all with --table '*.*'"
                )
            result = replace(result, notes=tuple(notes))
            cut_off = next((run.failure for run in runs if run.resumable), None)
            if cut_off is not None:
                self.store.jobs.fail(job.id, cut_off)
                return replace(result, notes=(*result.notes, f"resume with: tieout verify --resume {job.id}"))
            self.store.jobs.finish(job.id, verdict=result.verdict.value, result=verification_document(result))
            return result

    def _begin(self, resume: str | None) -> Job:
        if resume is not None:
            return self.store.jobs.resume(resume)
        return self.store.jobs.create(
            JobKind.VERIFICATION,
            source=self.shown[0],
            target=self.shown[1],
            request=self.document,
            task=self.request.task,
        )

    def _plan(self, job: Job, resume: bool, session: Callable[[], SparkSession]) -> list[PlannedTable]:
        kept = self.store.tables.all(job.id) if resume else ()
        seeds = [int(table.seed) for table in kept if table.seed]
        planned = plan_tables(*self.endpoints, self.request, seeds[0] if seeds else None, session, began=resume)
        if kept:
            planned = with_buckets_of([table.plan for table in kept], planned)
            check_same_plan(job, [(t.plan, t.source_table, t.target_table) for t in kept], planned)
            return planned
        self.store.tables.add(job.id, [pair_names(table) for table in planned])
        for ordinal, table in enumerate(planned):
            if table.plan is not None:
                seed = str(table.plan.hash.seed) if table.plan.hash else None
                self.store.tables.start(job.id, ordinal, plan=plan_document(table), seed=seed)
        return planned


@dataclass
class Verifier:
    """Verifies planned tables on Spark: digests of ranges, then rows where digests differ.

    `limits` are the maximum connections of the two endpoints.
    """

    spark: SparkSession
    options: VerifyOptions
    ledger: Ledger
    control: JobControl
    listener: Listener
    limits: tuple[int, int]

    def run(self, planned: Sequence[PlannedTable], *, resume: bool = False) -> list[TableRun]:
        runs = [
            start_run(ordinal, table.plan, self.options.chunk_rows)
            for ordinal, table in enumerate(planned)
            if table.plan is not None
        ]
        if resume:
            for run in runs:
                self.ledger.restore(run, self.options.limit)
        # A mark is valid for a whole server, and costs a connection.
        marks = _marks(runs[0]) if runs else (None, None)
        for run in runs:
            run.marks = marks if _same_readers(run, runs[0]) else _marks(run)
        # With a rate limit, each side has its own tasks to keep it.
        sides = slots_of_sides(self.spark, self.limits, may_share=self.options.max_rows_per_second is None)
        if self.options.counts_only:
            self.listener(Progress("counts"))
            CountStage(self.spark, sides, self.options).run(runs)
            return runs
        self.listener(Progress("digests", rows_total=_estimate(runs)))
        DigestStage(self.spark, sides, self.options, self.ledger, self._between("digests", runs)).run(runs)
        self.listener(Progress("rows", rows_done=_rows(runs), rows_total=_rows(runs)))
        RowStage(
            self.spark, min(slots(self.spark), *self.limits), self.options, self.ledger, self._between("rows", runs)
        ).run(runs)
        return runs

    def _between(self, stage: str, runs: Sequence[TableRun]) -> Callable[[], None]:
        def report() -> None:
            current = next((run.plan.name for run in runs if any(lane.todo or lane.rest for lane in run.lanes)), None)
            differences = sum(run.counts.total for run in runs)
            self.listener(Progress(stage, current, _rows(runs), _estimate(runs), differences=differences))
            self.control.check()

        return report


def _rows(runs: Sequence[TableRun]) -> int:
    return sum(run.source.count + run.target.count for run in runs)


def _estimate(runs: Sequence[TableRun]) -> int | None:
    estimates = [
        side.scan.table.estimated_rows
        for run in runs
        for side in (run.plan.source, run.plan.target)
        if run.failure is None
    ]
    return None if None in estimates else max(sum(e for e in estimates if e is not None), _rows(runs))


def _same_readers(one: TableRun, other: TableRun) -> bool:
    return all(
        a.reader == b.reader for a, b in ((one.plan.source, other.plan.source), (one.plan.target, other.plan.target))
    )


def _marks(run: TableRun) -> tuple[str | None, str | None]:
    try:
        return run.plan.source.reader.activity(), run.plan.target.reader.activity()
    except TieoutError:
        return None, None
