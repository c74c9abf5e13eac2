"""Checking one database against itself."""

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
    """Makes the checks that a CHECK statement asks for. `options` are those of CheckOptions; `limit` cuts the list of
    failures, not their counts.
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
    """Checks what was changed, again and again, `every` so many seconds: CHECK … CHANGED. Each round's report is told.

    Goes on until KeyboardInterrupt (Ctrl-C, or another terminal ends the job), or until `tell` raises something.
    """
    from tieout.checks.options import CheckOptions

    if not parse_check(statement).changed:
        raise UsageError("only a check of what was CHANGED can follow", "say CHECK TABLE … CHANGED")
    with _job(url, statement, CheckOptions(**options), limit, (spark, meta, silence)) as (job, session):
        job.follow(session, every, tell)


def forget_checked(url: str, *, meta: str = DEFAULT_URL) -> list[str]:
    """Gives up what CHANGED keeps at a database (a slot, triggers) and knows of it; the tables that were followed."""
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
    """Goes on with a check that was stopped, from what it had done. `url` is that of the job's database again: with
    the password, which is not kept.
    """
    from tieout.checks.options import CheckOptions

    kept = resumable_check(reference, meta)
    if url is not None and not parse_url(url).is_same_place(parse_url(kept.source)):
        message = f"job {kept.id} was of {kept.source}, not of {parse_url(url).redacted()}"
        raise UsageError(message, "what it found holds for that one alone: start a new one")
    asked = dict(kept.request)
    statement, limit = asked.pop("statement"), asked.pop("limit")
    where = (spark, meta, listener)
    with _job(url or kept.source, statement, CheckOptions(**asked), limit, where) as (job, session):
        return job.run(session, kept.id)


def resumable_check(reference: str, meta: str = DEFAULT_URL) -> Job:
    """The job, if it is a check that can go on."""
    with open_store(meta) as store:
        job = store.jobs.get(reference)
    if job.kind is not JobKind.CHECK or job.state in (JobState.DONE, JobState.CANCELLED):
        raise UsageError(f"job {job.id} is a {job.kind} that is {job.state}: it can't be resumed", "start a new one")
    if "every" in job.request:
        hint = "start tieout check --follow again: it goes on behind the last whole round"
        raise UsageError(f"job {job.id} made round after round, and has no end to be resumed to", hint)
    return job


@contextmanager
def _job(
    url: str,
    statement: str,
    options: CheckOptions,
    limit: int | None,
    where: tuple[SparkSession | SparkSettings | None, str, Listener],
) -> Iterator[tuple[CheckJob, Callable[[], SparkSession]]]:
    # pyspark imports itself in circles: it is loaded here, before two threads could meet in one.
    import tieout.spark.session  # noqa: F401
    from tieout.checks.job import CheckJob
    from tieout.connectors.registry import open_checker, open_source

    spark, meta, listener = where
    asked, parsed = parse_check(statement), parse_url(url)
    if options.redact_values and asked.changed:
        raise UsageError(
            "a check of what was CHANGED finds entries again by the values that it keeps, and values are redacted",
            "check all rows, or give --no-redact-values",
        )
    with ExitStack() as stack:
        store = stack.enter_context(open_store(meta))
        pool = stack.enter_context(ThreadPoolExecutor(1))
        checker = stack.enter_context(closing(open_checker(parsed)))
        session = pool.submit(session_of, spark)
        # What tells of changes has to write: a slot, triggers. The checker's own sessions can't.
        source = partial(open_source, parsed)
        yield CheckJob(store, asked, checker, parsed.redacted(), options, limit, source, listener), session.result


def split_checks(text: str) -> list[str]:
    """The statements of a file."""
    from tieout.checks.language import split_statements

    return split_statements(text)


def parse_check(statement: str) -> CheckStatement:
    """What a statement asks for; StatementError, which points at the place, for what is none."""
    from tieout.checks.language import parse_statement

    return parse_statement(statement)
