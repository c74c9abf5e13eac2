"""The checksum verifier: digests of ranges, then rows of what differs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from tieout.errors import TieoutError
from tieout.model.progress_events import Listener, Progress
from tieout.model.requests import VerifyOptions
from tieout.runtime.control import JobControl
from tieout.runtime.dispatch import slots
from tieout.verification.digest_stage import CountStage, DigestStage, Slots
from tieout.verification.plan import PlannedTable
from tieout.verification.progress import Ledger
from tieout.verification.row_stage import RowStage
from tieout.verification.table_state import TableRun, start_run


@dataclass
class Verifier:
    """Runs planned tables on Spark. `limits` are the endpoints' caps on connections."""

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
        # One mark is that of a whole server, and costs a connection.
        marks = _marks(runs[0]) if runs else (None, None)
        for run in runs:
            run.marks = marks if _same_readers(run, runs[0]) else _marks(run)
        tasks = slots(self.spark)
        half = max(1, tasks // 2)
        # A rate is kept by each side's own tasks.
        shared = 2 * half <= min(self.limits) and self.options.max_rows_per_second is None
        connections = Slots(min(half, self.limits[0]), min(half, self.limits[1]), shared)
        if self.options.counts_only:
            self.listener(Progress("counts"))
            CountStage(self.spark, connections).run(runs)
            return runs
        self.listener(Progress("digests", rows_total=_estimate(runs)))
        DigestStage(self.spark, connections, self.options, self.ledger, self._between("digests", runs)).run(runs)
        self.listener(Progress("rows", rows_done=_rows(runs), rows_total=_rows(runs)))
        RowStage(self.spark, min(tasks, *self.limits), self.options, self.ledger, self._between("rows", runs)).run(runs)
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
