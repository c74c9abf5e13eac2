"""Checks of one database: run, follow, resume."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from tieout.api.sessions import SparkSettings, session_of
from tieout.config.urls import parse_url
from tieout.errors import UsageError
from tieout.meta import DEFAULT_URL, Job, JobKind, JobState, open_store
from tieout.model.check_statements import CheckStatement
from tieout.model.defaults import FOLLOW_EVERY, LISTED_DIFFERENCES
from tieout.model.failures import CheckReport
from tieout.model.progress_events import Listener, silence

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tieout.checks.job import CheckJob
    from tieout.checks.options import CheckOptions


def check(
    url: str,
    statement: str,
    *,
    spark: SparkSession | SparkSettings | None = None,
    meta: str = DEFAULT_URL,
    limit: int | None = LISTED_DIFFERENCES,
    listener: Listener = silence,
    **options: Any,
) -> CheckReport:
    """Runs the checks of a CHECK statement. `options` are the fields of CheckOptions; `limit` truncates the list of
    failures, while counts stay exact.
    """
    from tieout.checks.options import CheckOptions

    with _job(url, statement, CheckOptions(**options), limit, (spark, meta, listener)) as (job, session):
        return job.run(session)


def follow_checks(
    url: str,
    statement: str,
    tell: Callable[[CheckReport], None],
    *,
    every: float = FOLLOW_EVERY,
    spark: SparkSession | SparkSettings | None = None,
    meta: str = DEFAULT_URL,
    limit: int | None = LISTED_DIFFERENCES,
    **options: Any,
) -> None:
    """Runs CHECK … CHANGED in rounds, `every` seconds apart, and calls `tell` with each round's report.

    It ends with KeyboardInterrupt (Ctrl-C, or another terminal ends the job), or when `tell` raises an error.
    """
    from tieout.checks.options import CheckOptions

    if not parse_check(statement).changed:
        raise UsageError("only CHECK … CHANGED can follow changes", "write CHECK TABLE … CHANGED")
    with _job(url, statement, CheckOptions(**options), limit, (spark, meta, silence)) as (job, session):
        job.follow(session, every, tell)


def forget_checked(url: str, *, meta: str = DEFAULT_URL) -> list[str]:
    """Drops what CHANGED keeps in a database (a slot, triggers) and in the meta store; returns the tables."""
    from tieout.checks.changed.log_batches import forget
    from tieout.connectors.registry import open_source

    parsed = parse_url(url)
    with open_store(meta) as store:
        return forget(store, parsed.redacted(), open_source(parsed))


def resume_check(
    reference: str,
    url: str | None = None,
    *,
    spark: SparkSession | SparkSettings | None = None,
    meta: str = DEFAULT_URL,
    listener: Listener = silence,
) -> CheckReport:
    """Resumes a check where it stopped. `url` is the job's database again, with the password, which the job did not
    store.
    """
    from tieout.checks.options import CheckOptions

    kept = resumable_check(reference, meta)
    if url is not None and not parse_url(url).is_same_place(parse_url(kept.source)):
        message = f"job {kept.id} ran on {kept.source}, not on {parse_url(url).redacted()}"
        raise UsageError(message, "its results hold only for that database: start a new job")
    request = dict(kept.request)
    statement, limit = request.pop("statement"), request.pop("limit")
    where = (spark, meta, listener)
    with _job(url or kept.source, statement, CheckOptions(**request), limit, where) as (job, session):
        return job.run(session, kept.id)


def resumable_check(reference: str, meta: str = DEFAULT_URL) -> Job:
    """The job, if it is a check that can be resumed."""
    with open_store(meta) as store:
        job = store.jobs.get(reference)
    if job.kind is not JobKind.CHECK or job.state in (JobState.DONE, JobState.CANCELLED):
        raise UsageError(f"job {job.id} is a {job.kind} that is {job.state}: it can't be resumed", "start a new one")
    if "every" in job.request:
        hint = "start tieout check --follow again: it continues after the last complete round"
        raise UsageError(f"job {job.id} followed changes and can't be resumed", hint)
    return job


@contextmanager
def _job(
    url: str,
    statement: str,
    options: CheckOptions,
    limit: int | None,
    where: tuple[SparkSession | SparkSettings | None, str, Listener],
) -> Iterator[tuple[CheckJob, Callable[[], SparkSession]]]:
    # pyspark has circular imports: load it here, before two threads import it at once.
    import tieout.spark.session  # noqa: F401
    from tieout.checks.job import CheckJob
    from tieout.connectors.registry import open_checker, open_source

    spark, meta, listener = where
    parsed, endpoint = parse_check(statement), parse_url(url)
    if options.redact_values and parsed.changed:
        raise UsageError(
            "CHECK … CHANGED stores values to find entries again, but values are redacted",
            "check all rows, or give --no-redact-values",
        )
    with ExitStack() as stack:
        store = stack.enter_context(open_store(meta))
        pool = stack.enter_context(ThreadPoolExecutor(1))
        checker = stack.enter_context(closing(open_checker(endpoint)))
        session = pool.submit(session_of, spark)
        # Following changes needs to write (a slot, triggers), which the checker's own sessions can't.
        source = partial(open_source, endpoint)
        yield CheckJob(store, parsed, checker, endpoint.redacted(), options, limit, source, listener), session.result


def split_checks(text: str) -> list[str]:
    """Splits the text of a file into statements."""
    from tieout.checks.language import split_statements

    return split_statements(text)


def parse_check(statement: str) -> CheckStatement:
    """Parses a statement. A StatementError points at the mistake."""
    from tieout.checks.language import parse_statement

    return parse_statement(statement)
