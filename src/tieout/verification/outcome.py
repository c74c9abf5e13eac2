"""Runs into results: each table's verdict, then the whole."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from tieout.model.differences import Difference, DifferenceCounts
from tieout.model.requests import VerifyRequest
from tieout.model.results import RowCounts, Strategy, TableResult, VerificationResult
from tieout.verification.judge import collision_bound, judge_all, judge_table
from tieout.verification.plan import PlannedTable
from tieout.verification.table_state import TableRun


def table_results(
    planned: Sequence[PlannedTable], runs: Sequence[TableRun], positions: tuple[str | None, str | None]
) -> list[TableResult]:
    """The verdict of each table, in the order planned; `positions` are those from before anything was read."""
    by_ordinal = {run.ordinal: run for run in runs}
    return [_result(table, by_ordinal.get(ordinal), positions) for ordinal, table in enumerate(planned)]


def _result(table: PlannedTable, run: TableRun | None, positions: tuple[str | None, str | None]) -> TableResult:
    pair, comparison = table.pair, table.comparison
    one_sided = "source" if pair.target is None else "target" if pair.source is None else None
    verdict, reason = judge_table(
        one_sided=one_sided,
        findings=comparison.findings if comparison else (),
        unverified=comparison.unverified if comparison else (),
        counts=run.counts if run else DifferenceCounts(),
        failure=table.failure or (run.failure if run else None),
        incomplete="rows were only counted" if run and _only_counted(run) else None,
        other_counts=_other_counts(run) if run and _only_counted(run) else None,
    )
    result = TableResult(
        str(pair.source) if pair.source else None,
        str(pair.target) if pair.target else None,
        verdict,
        reason,
        unverified_columns=comparison.unverified if comparison else (),
        schema=comparison.findings if comparison else (),
        explanation=table.explanation,
    )
    if run is None:
        return result
    notes = list(run.notes)
    if run.rechecked:
        notes.append(f"written to while it was read: {run.rechecked:,} rows were looked at again")
    return replace(
        result,
        strategy=run.plan.strategy,
        rows=RowCounts(run.source.count, run.target.count) if run.failure is None else RowCounts(),
        differences=run.counts,
        collision_bound=collision_bound(run),
        source_position=positions[0],
        target_position=positions[1],
        seconds=run.seconds,
        notes=tuple(notes),
    )


def _only_counted(run: TableRun) -> bool:
    return run.plan.strategy is Strategy.COUNTS


def _other_counts(run: TableRun) -> str | None:
    if run.failure is not None or run.source.count == run.target.count:
        return None
    return f"the source has {run.source.count:,} rows, the target {run.target.count:,}"


def verification_result(
    request: VerifyRequest,
    job: str,
    redacted: tuple[str, str],
    started: tuple[datetime, float],
    tables: list[TableResult],
    runs: Sequence[TableRun],
) -> VerificationResult:
    listed: list[Difference] = []
    for run in runs:
        room = None if request.options.limit is None else max(0, request.options.limit - len(listed))
        listed += run.differences[:room]
    total = sum(table.differences.total for table in tables)
    return VerificationResult(
        judge_all(tables),
        job,
        *redacted,
        started_at=started[0],
        seconds=time.monotonic() - started[1],
        tables=tuple(tables),
        differences=tuple(listed),
        truncated=sum(d.copies for d in listed) < total,
        counts_only=request.options.counts_only,
    )


def now() -> tuple[datetime, float]:
    return datetime.now(UTC), time.monotonic()
