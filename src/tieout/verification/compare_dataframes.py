"""Compares two DataFrames: a verification without endpoints and without a meta store."""

from __future__ import annotations

import pickle
import secrets

from pyspark.sql import DataFrame, SparkSession

from tieout.config.urls import EndpointUrl
from tieout.errors import TieoutError, UsageError
from tieout.model.digests import EMPTY
from tieout.model.requests import TableRequest, VerifyOptions, VerifyRequest
from tieout.model.results import VerificationResult
from tieout.model.tables import TableName
from tieout.spark.errors import frame_errors
from tieout.spark.executor_work import map_batches
from tieout.spark.frames.endpoint import FrameEndpoint, FrameReader
from tieout.tasks.table_matching import NamePair
from tieout.verification.bucket_rows import CompareBuckets
from tieout.verification.frames import native_digests, native_suspects, rows_of
from tieout.verification.judge import now, table_results, verification_result
from tieout.verification.localise import Localised, Rechecking, shape_of
from tieout.verification.plan import PairPlanner, PlannedTable
from tieout.verification.table_state import TableRun, start_run

_SCHEMA = "frame"
_NAMES = TableName(_SCHEMA, "a"), TableName(_SCHEMA, "b")
_AT_ONCE = Rechecking(0, 0, (None, None))
"""The rows of a frame can't be rechecked."""


def compare_frames(a: DataFrame, b: DataFrame, request: TableRequest, limit: int | None) -> VerificationResult:
    """Matches rows by the request's key; without a key, as multisets. `a` is the source, `b` the target."""
    started = now()
    spark = a.sparkSession
    options = VerifyOptions(limit=limit)
    planned = _planned(spark, (a, b), request, options)
    runs = []
    if planned.plan is not None:
        run = start_run(0, planned.plan, None)
        runs.append(run)
        with frame_errors("the comparison of two DataFrames"):
            _digest(spark, run)
            if run.differing_buckets:
                _compare_rows(spark, run, limit)
    tables = table_results([planned], runs, (None, None))
    whole = VerifyRequest("DataFrame", "DataFrame", (request,), options)
    return verification_result(whole, "", (whole.source, whole.target), started, tables, runs)


def _planned(
    spark: SparkSession, frames: tuple[DataFrame, DataFrame], request: TableRequest, options: VerifyOptions
) -> PlannedTable:
    endpoints = []
    for name, frame in zip(_NAMES, frames, strict=True):
        doubled = {column for column in frame.columns if frame.columns.count(column) > 1}
        if doubled:
            raise UsageError(f"{name} has more than one column {min(doubled)}", "rename one of them")
        reader = FrameReader(None, {name: name.name}, {name: frame})
        endpoints.append(FrameEndpoint(EndpointUrl("spark"), spark, _SCHEMA, reader))
    source, target = endpoints
    tables = source.describe([_NAMES[0]])[0], target.describe([_NAMES[1]])[0]
    planner = PairPlanner(source, target, options, secrets.randbits(62))
    return planner.plan(NamePair(*_NAMES, request), tables)


def _digest(spark: SparkSession, run: TableRun) -> None:
    plan = run.plan
    assert plan.hash is not None
    rows = rows_of(spark, plan.source), rows_of(spark, plan.target)
    scans = plan.source.scan, plan.target.scan
    run.source_buckets, run.target_buckets = native_digests(rows, scans, plan.hash.seed, plan.buckets)
    run.source, run.target = (sum(b.values(), EMPTY) for b in (run.source_buckets, run.target_buckets))
    run.ranges = 1


def _compare_rows(spark: SparkSession, run: TableRun, limit: int | None) -> None:
    plan = run.plan
    payloads = native_suspects(spark, run)
    compare = CompareBuckets(plan, shape_of(plan), limit, _AT_ONCE)
    together = payloads.repartition("bucket").sortWithinPartitions("bucket")
    for row in map_batches(together, compare.run, "payload binary").collect():
        found: Localised | TieoutError = pickle.loads(row.payload)
        if isinstance(found, TieoutError):
            raise found
        run.counts += found.counts
        run.notes.update(dict.fromkeys(found.notes))
        run.differences += found.differences[: None if limit is None else max(0, limit - len(run.differences))]
