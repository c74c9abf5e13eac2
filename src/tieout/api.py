"""One function for each thing a user does. What a command prints, these return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from tieout.config.urls import EndpointUrl, parse_url
from tieout.connectors.registry import open_endpoint
from tieout.meta import DEFAULT_URL, open_store
from tieout.model.progress import Listener, Progress, silence
from tieout.model.requests import TableRequest, VerifyOptions, VerifyRequest
from tieout.model.results import VerificationResult

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_CONNECTIONS = 8


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """The session to start, for who does not bring one. `verbose` lets Spark's own log through."""

    master: str = "local[*]"
    conf: Mapping[str, str] = field(default_factory=dict)
    verbose: bool = False


def verify(
    source: str,
    target: str,
    tables: Sequence[str | TableRequest] = (),
    *,
    spark: SparkSession | None = None,
    meta: str = DEFAULT_URL,
    listener: Listener = silence,
    **options: Any,
) -> VerificationResult:
    """Compares the tables of two endpoints.

    `tables` are names or patterns (none: all), `options` those of VerifyOptions; `spark` is a session of
    the caller's own, else one is started.
    """
    requests = tuple(TableRequest(table) if isinstance(table, str) else table for table in tables)
    request = VerifyRequest(source, target, requests, VerifyOptions(**options))
    return run_verification(request, spark=spark, meta=meta, listener=listener)


def run_verification(
    request: VerifyRequest,
    *,
    spark: SparkSession | SparkSettings | None = None,
    meta: str = DEFAULT_URL,
    listener: Listener = silence,
    resume: str | None = None,
) -> VerificationResult:
    """Runs a verification as a job of the meta store; `resume` names one to go on with."""
    urls = parse_url(request.source), parse_url(request.target)
    shown = urls[0].redacted(), urls[1].redacted()
    listener(Progress("schema"))
    with ExitStack() as stack:
        store = stack.enter_context(open_store(meta))
        pool = stack.enter_context(ThreadPoolExecutor(3))
        # Spark takes seconds to start: meanwhile the catalogs are read.
        session: Future[SparkSession] = pool.submit(_session, spark)
        opened = [pool.submit(open_endpoint, url) for url in urls]
        source, target = (stack.enter_context(closing(future.result())) for future in opened)

        from tieout.verify.job import VerificationJob

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
    return url.connections or DEFAULT_CONNECTIONS


def _session(spark: SparkSession | SparkSettings | None) -> SparkSession:
    if spark is not None and not isinstance(spark, SparkSettings):
        return spark
    from tieout.spark.session import start_session

    settings = spark or SparkSettings()
    return start_session(settings.master, settings.conf, verbose=settings.verbose)


def request_document(request: VerifyRequest, shown: tuple[str, str]) -> dict[str, Any]:
    """The request as kept with its job: without secrets."""
    return {**asdict(request), "source": shown[0], "target": shown[1]}
