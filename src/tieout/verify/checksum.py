"""The checksum verifier: schemas, digests of ranges, rows of what differs, verdicts."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from tieout.connectors.base import Endpoint, HashSpec
from tieout.errors import TieoutError
from tieout.meta import Wanted
from tieout.model.differences import Difference, DifferenceCounts
from tieout.model.progress import Listener, Progress
from tieout.model.requests import VerifyOptions, VerifyRequest
from tieout.model.results import (
    Explanation,
    RowCounts,
    Strategy,
    TableResult,
    VerificationResult,
)
from tieout.model.tables import Table
from tieout.verify.bound import collision_bound
from tieout.verify.bucketing import bucket_count
from tieout.verify.columns import SchemaComparison, compare_schemas
from tieout.verify.judge import judge_all, judge_table
from tieout.verify.ledger import Ledger
from tieout.verify.pairing import NamePair, Names, pair_tables
from tieout.verify.plan import Side, TablePlan, scans
from tieout.verify.rowstage import RowStage
from tieout.verify.strategy import choose_strategy
from tieout.verify.tablerun import TableRun, start_run
from tieout.verify.waves import DigestStage, Slots


class Stopped(Exception):
    """Another terminal wants this job to pause or to end."""

    def __init__(self, wanted: Wanted) -> None:
        super().__init__(wanted)
        self.wanted = wanted


@dataclass(frozen=True)
class PlannedTable:
    """A pair of tables as planned: with a plan, or with the reason why there is none."""

    pair: NamePair
    comparison: SchemaComparison | None = None
    plan: TablePlan | None = None
    explanation: Explanation | None = None
    failure: str | None = None


def plan_tables(
    source: Endpoint, target: Endpoint, request: VerifyRequest, seed: int | None = None
) -> list[PlannedTable]:
    """What would be compared, and how. Reads catalogs, no rows."""
    left = Names(tuple(source.tables()), source.default_schema())
    right = Names(tuple(target.tables()), target.default_schema())
    pairs = pair_tables(left, right, request.tables)
    sources = _described(source, [pair.source for pair in pairs if pair.source and pair.target])
    targets = _described(target, [pair.target for pair in pairs if pair.source and pair.target])
    spec_seed = secrets.randbits(62) if seed is None else seed
    planned = []
    for pair in pairs:
        if pair.source is None or pair.target is None:
            planned.append(PlannedTable(pair))
        else:
            planned.append(
                _plan(source, target, pair, (sources[pair.source], targets[pair.target]), request.options, spec_seed)
            )
    return planned


def _described(endpoint: Endpoint, names: Sequence) -> dict:  # type: ignore[type-arg]
    return dict(zip(names, endpoint.describe(names), strict=True)) if names else {}


def _plan(
    source: Endpoint, target: Endpoint, pair: NamePair, tables: tuple[Table, Table], options: VerifyOptions, seed: int
) -> PlannedTable:
    request = pair.request
    comparison = compare_schemas(*tables, request, options)
    if not comparison.pairs:
        return PlannedTable(pair, comparison, failure="the two tables have no column in common that can be compared")
    where = (request.source_where or request.where, request.target_where or request.where)
    left, right, aligned = scans(*tables, comparison, where)
    asked = options.strategy if aligned or options.strategy is not Strategy.AUTO else Strategy.PULL
    choice = choose_strategy(asked, source.capabilities, target.capabilities, comparison.pairs)
    strategy = choice.strategy if aligned else Strategy.PULL
    reasons = [*choice.reasons, _alignment(comparison, aligned)]
    spec = (
        None
        if strategy is Strategy.PULL
        else HashSpec(strategy is Strategy.NATIVE, options.hash_bits if strategy is Strategy.NATIVE else 128, seed)
    )
    estimates = [t.estimated_rows for t in tables if t.estimated_rows is not None]
    plan = TablePlan(
        name=str(pair.source),
        source=Side(source.reader(), left),
        target=Side(target.reader(), right),
        columns=tuple(p.source.name for p in comparison.pairs),
        key=comparison.key,
        aligned=aligned,
        strategy=strategy,
        hash=spec,
        buckets=0 if aligned else bucket_count(max(estimates, default=None)),
    )
    return PlannedTable(
        pair, comparison, plan, Explanation(strategy, "ranges" if aligned else "buckets", tuple(reasons))
    )


def _alignment(comparison: SchemaComparison, aligned: bool) -> str:
    names = ", ".join(comparison.pairs[place].source.name for place in comparison.key)
    if aligned:
        return f"ranges of ({names}): both sides sort it the same way"
    if names:
        return f"buckets by the hash of ({names}): the two sides do not sort it alike"
    return "buckets by the hash of the row: there is no key, rows are a multiset"


@dataclass
class Verifier:
    """Runs planned tables on Spark. `limits` are the endpoints' caps on connections."""

    spark: SparkSession
    options: VerifyOptions
    ledger: Ledger
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
        for run in runs:
            run.marks = _marks(run)
        tasks = max(1, self.spark.sparkContext.defaultParallelism)
        half = max(1, tasks // 2)
        slots = Slots(min(half, self.limits[0]), min(half, self.limits[1]))
        self.listener(Progress("digests", rows_total=_estimate(runs)))
        DigestStage(self.spark, slots, self.options, self.ledger, self._between("digests", runs)).run(runs)
        self.listener(Progress("rows", rows_done=_rows(runs), rows_total=_rows(runs)))
        RowStage(self.spark, min(tasks, *self.limits), self.options, self.ledger, self._between("rows", runs)).run(runs)
        return runs

    def _between(self, stage: str, runs: Sequence[TableRun]) -> Callable[[], None]:
        def report() -> None:
            current = next((run.plan.name for run in runs if any(lane.todo or lane.rest for lane in run.lanes)), None)
            differences = sum(run.counts.total for run in runs)
            self.listener(Progress(stage, current, _rows(runs), _estimate(runs), differences=differences))
            wanted = self.ledger.wanted()
            if wanted is not None:
                raise Stopped(wanted)

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


def _marks(run: TableRun) -> tuple[str | None, str | None]:
    try:
        return run.plan.source.reader.activity(), run.plan.target.reader.activity()
    except TieoutError:
        return None, None


def table_results(planned: Sequence[PlannedTable], runs: Sequence[TableRun]) -> list[TableResult]:
    """The verdict of each table, in the order planned."""
    by_ordinal = {run.ordinal: run for run in runs}
    return [_result(table, by_ordinal.get(ordinal)) for ordinal, table in enumerate(planned)]


def _result(table: PlannedTable, run: TableRun | None) -> TableResult:
    pair, comparison = table.pair, table.comparison
    one_sided = "source" if pair.target is None else "target" if pair.source is None else None
    verdict, reason = judge_table(
        one_sided=one_sided,
        findings=comparison.findings if comparison else (),
        unverified=comparison.unverified if comparison else (),
        counts=run.counts if run else DifferenceCounts(),
        failure=table.failure or (run.failure if run else None),
        incomplete=None,
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
        seconds=run.seconds,
        notes=tuple(notes),
    )


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
    )


def now() -> tuple[datetime, float]:
    return datetime.now(UTC), time.monotonic()
