"""Verifications: run one, compare two DataFrames, show what would be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from tieout.api.sessions import SparkSettings, session_of
from tieout.config.urls import EndpointUrl, parse_url
from tieout.meta import DEFAULT_URL, open_store
from tieout.model.defaults import CONNECTIONS, LISTED_DIFFERENCES
from tieout.model.documents import request_document
from tieout.model.preflight import Forecast, Preflight, Problem, Severity
from tieout.model.progress_events import Listener, Progress, silence
from tieout.model.redaction import values_hidden
from tieout.model.requests import MoveRequest, TableRequest, VerifyOptions, VerifyRequest, table_requests
from tieout.model.results import VerificationResult

_NO_ROWS = Problem(
    Severity.NOTE,
    "it has no rows to compare, so what is moved from it can't be verified with it",
    "verify the database that the events come from",
    "source",
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def verify(
    source: str,
    target: str,
    tables: str | TableRequest | Sequence[str | TableRequest] = (),
    *,
    spark: SparkSession | None = None,
    meta: str = DEFAULT_URL,
    listener: Listener = silence,
    **options: Any,
) -> VerificationResult:
    """Compares the tables of two endpoints.

    `tables` are names or patterns (none: all tables), `options` the fields of VerifyOptions. `spark` is a session of
    the caller's own; without it, one is started.
    """
    request = VerifyRequest(source, target, table_requests(tables), VerifyOptions(**options))
    return run_verification(request, spark=spark, meta=meta, listener=listener)


def compare(
    a: DataFrame,
    b: DataFrame,
    key: str | Sequence[str] = (),
    columns: str | Sequence[str] | None = None,
    tolerance: Mapping[str, str | float] | None = None,
    limit: int | None = LISTED_DIFFERENCES,
) -> VerificationResult:
    """Compares two DataFrames, `a` as the source and `b` as the target; rows match by `key`, or else as multisets.

    `columns` None: all. `tolerance` is a number, or "1e-9 relative", for a column. `limit` truncates the list
    of differences, while counts stay exact.
    """
    from tieout.verification.compare_dataframes import compare_frames

    session_of(a.sparkSession)
    request = TableRequest(
        "a",
        key=((key,) if isinstance(key, str) else tuple(key)) or None,
        columns=None if columns is None else (columns,) if isinstance(columns, str) else tuple(columns),
        tolerance={name: str(amount) for name, amount in (tolerance or {}).items()},
    )
    return compare_frames(a, b, request, limit)


def run_verification(
    request: VerifyRequest,
    *,
    spark: SparkSession | SparkSettings | None = None,
    meta: str = DEFAULT_URL,
    listener: Listener = silence,
    resume: str | None = None,
) -> VerificationResult:
    """Runs a verification as a job of the meta store; `resume` names one to resume."""
    # pyspark has circular imports: load it here, before two threads import it at once.
    import tieout.spark.session  # noqa: F401
    from tieout.tasks.endpoints import open_any

    urls = parse_url(request.source), parse_url(request.target)
    shown = urls[0].redacted(), urls[1].redacted()
    listener(Progress("schema"))
    with ExitStack() as stack:
        store = stack.enter_context(open_store(meta))
        pool = stack.enter_context(ThreadPoolExecutor(3))

        @cache
        def starting() -> Future[SparkSession]:
            return pool.submit(session_of, spark)

        opened = [pool.submit(open_any, url, lambda: starting().result()) for url in urls]
        source, target = (stack.enter_context(closing(future.result())) for future in opened)
        # Spark takes seconds to start: read the catalogs meanwhile, but don't let a wrong password wait for it.
        session = starting()

        from tieout.verification.job import VerificationJob

        job = VerificationJob(
            store,
            request,
            (source, target),
            shown,
            request_document(request, shown),
            (_connections(urls[0]), _connections(urls[1])),
            listener,
        )
        return job.run(session.result, resume)


def _connections(url: EndpointUrl) -> int:
    return url.connections or CONNECTIONS


def explain(request: VerifyRequest, *, spark: SparkSession | SparkSettings | None = None) -> Forecast:
    """What would be compared, how and why. Reads catalogs, no rows; starts Spark only for tables that it alone can
    read, and for a task's conditions and expressions.
    """
    from tieout.tasks.endpoints import open_any
    from tieout.verification.plan_tables import plan_tables
    from tieout.verification.preflight import forecast_of

    urls = parse_url(request.source), parse_url(request.target)
    session = partial(session_of, spark)
    with closing(open_any(urls[0], session)) as source, closing(open_any(urls[1], session)) as target:
        tables = tuple(forecast_of(table) for table in plan_tables(source, target, request, None, session))
    return Forecast(urls[0].redacted(), urls[1].redacted(), tables)


def preflight(
    request: VerifyRequest,
    meta: str = DEFAULT_URL,
    *,
    spark: SparkSession | SparkSettings | None = None,
    move: MoveRequest | None = None,
) -> Preflight:
    """Every problem of a verification at once, each with its fix, and what its verdict would be worth.

    `move` adds the problems of moving the tables first.
    """
    from tieout.verification.preflight import preflight_verification

    urls = parse_url(request.source), parse_url(request.target)
    with values_hidden(request.options.redact_values):
        if move is None:
            return preflight_verification(request, urls, meta, partial(session_of, spark))

        from tieout.connectors.registry import open_target
        from tieout.move.preflight import preflight_move
        from tieout.move.ways import judged_apart

        moved = preflight_move(move, urls, meta)
        if moved.move is None:
            return moved
        if not _has_rows(urls[0]):
            return replace(moved, problems=(*moved.problems, _NO_ROWS))
        with closing(open_target(urls[1])) as target:
            skips = judged_apart(target, move.task)
        return moved.then(preflight_verification(request, urls, meta, partial(session_of, spark), skips))


def _has_rows(url: EndpointUrl) -> bool:
    """Whether what was moved from there can be verified; the endpoint was reached before."""
    from tieout.connectors.registry import open_endpoint

    with closing(open_endpoint(url)) as endpoint:
        return endpoint.capabilities.rows
