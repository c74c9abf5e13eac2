"""Judges: turns the state of verified tables into verdicts, results and the probability of a collision.

Pure: the same facts always give the same verdict.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import ROUND_UP, Context, Decimal
from fractions import Fraction

from tieout.model.canonical_kinds import Form
from tieout.model.differences import Difference, DifferenceCounts
from tieout.model.requests import VerifyRequest
from tieout.model.results import (
    RowCounts,
    SchemaFinding,
    Strategy,
    TableResult,
    UnverifiedColumn,
    Verdict,
    VerificationResult,
)
from tieout.verification.plan import PlannedTable
from tieout.verification.table_state import TableRun
from tieout.wording import plural

_FIXED = {
    Form.BOOLEAN,
    Form.INTEGER,
    Form.DECIMAL,
    Form.FLOAT32,
    Form.FLOAT64,
    Form.DATE,
    Form.TIMESTAMP,
    Form.TIME,
    Form.UUID,
}


def collision_bound(run: TableRun) -> str | None:
    """An upper bound on the probability that two different tables pass as equal, for data that nobody made up to
    collide. None if digests did not decide.

    Digests of two different ranges agree with probability 2^-bits. With `pull`, so do the 128-bit hashes that stand for
    two different values of variable length. With `native`, a row is hashed twice.
    """
    if run.failure is not None or run.ranges == 0:
        return None
    spec = run.plan.hash
    if spec is not None and not run.plan.aligned:
        # Each of two lanes chains the columns through 64 bits, and may collide at any column.
        chances = len(run.source_buckets) * (len(run.plan.columns) + 1) ** 2
        return _text(Fraction(max(chances, 1), 2**spec.bits))
    if spec is not None:
        return _text(Fraction(run.ranges * (2 if spec.native else 1), 2**spec.bits))
    variable = sum(column.kind.form not in _FIXED for column in run.plan.source.scan.columns)
    comparisons = max(run.ranges, len(run.source_buckets)) + variable * max(run.source.count, run.target.count)
    return _text(Fraction(comparisons, 2**128))


def _text(probability: Fraction) -> str:
    # Rounded up: the report says "less than".
    rounded = Context(prec=1, rounding=ROUND_UP).divide(
        Decimal(probability.numerator), Decimal(probability.denominator)
    )
    return f"{rounded:e}".replace("e-0", "e-")


def judge_table(
    *,
    one_sided: str | None,
    findings: Sequence[SchemaFinding],
    unverified: Sequence[UnverifiedColumn],
    counts: DifferenceCounts,
    failure: str | None,
    incomplete: str | None,
    other_counts: str | None = None,
) -> tuple[Verdict, str | None]:
    """The verdict of a table and its reason.

    A difference is a difference, whatever else went wrong (`other_counts`: rows were only counted, and the counts
    differ). Without one, anything that was not compared (`failure`: it could not be; `incomplete`: nobody asked for it)
    leaves the table unverified.
    """
    if one_sided is not None:
        return Verdict.DIFFERENT, f"the table is only on the {one_sided}"
    if counts:
        return Verdict.DIFFERENT, failure
    if other_counts is not None:
        return Verdict.DIFFERENT, other_counts
    broken = [finding for finding in findings if finding.breaks]
    if broken:
        return Verdict.DIFFERENT, f"column {broken[0].column} {broken[0].message}"
    if failure is not None:
        return Verdict.UNVERIFIED, failure
    if unverified:
        names = ", ".join(column.column for column in unverified)
        return Verdict.UNVERIFIED, f"not compared: {names}"
    if incomplete is not None:
        return Verdict.UNVERIFIED, incomplete
    return Verdict.EQUAL, None


def judge_all(tables: Sequence[TableResult]) -> Verdict:
    """Different if any table is, else unverified if any table is or there is none, else equal."""
    verdicts = {table.verdict for table in tables}
    if Verdict.DIFFERENT in verdicts:
        return Verdict.DIFFERENT
    if Verdict.UNVERIFIED in verdicts or not verdicts:
        return Verdict.UNVERIFIED
    return Verdict.EQUAL


def table_results(
    planned: Sequence[PlannedTable], runs: Sequence[TableRun], positions: tuple[str | None, str | None]
) -> list[TableResult]:
    """The result of each table, in the order planned. `positions` were taken before anything was read."""
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
        table.source_name,
        table.target_name,
        verdict,
        reason,
        unverified_columns=comparison.unverified if comparison else (),
        schema=comparison.findings if comparison else (),
        explanation=table.explanation,
        merged=bool(table.merged),
    )
    if run is None:
        return result
    notes = list(run.notes)
    if table.merged:
        notes.append(
            f"its rows come from {plural(len(table.merged), 'table')}: differences are listed under {table.name}"
        )
    if run.rechecked:
        notes.append(f"the table was written to during the verification: {plural(run.rechecked, 'row')} rechecked")
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
