"""Checking one database against itself."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

from tieout.api.sessions import SparkSettings, session_of
from tieout.config.urls import parse_url
from tieout.errors import UsageError
from tieout.meta import DEFAULT_URL, Job, JobKind, JobState, open_store
from tieout.model.failures import CheckReport
from tieout.model.progress import Listener, silence
from tieout.model.statements import CheckStatement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tieout.scrub.options import CheckOptions


def check(
    url: str,
    statement: str,
    *,
    spark: SparkSession | SparkSettings | None = None,
    meta: str = DEFAULT_URL,
    limit: int | None = 1000,
    listener: Listener = silence,
    **options: Any,
) -> CheckReport:
    """Makes the checks that a CHECK statement asks for. `options` are those of CheckOptions; `limit` cuts the list of
    failures, not their counts.
    """
    from tieout.scrub.options import CheckOptions

    return _run(url, statement, CheckOptions(**options), limit, (spark, meta, listener))


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
    from tieout.scrub.options import CheckOptions

    job = resumable_check(reference, meta)
    asked = dict(job.request)
    statement, limit = asked.pop("statement"), asked.pop("limit")
    return _run(url or job.source, statement, CheckOptions(**asked), limit, (spark, meta, listener), job.id)


def resumable_check(reference: str, meta: str = DEFAULT_URL) -> Job:
    """The job, if it is a check that can go on."""
    with open_store(meta) as store:
        job = store.jobs.get(reference)
    if job.kind is not JobKind.CHECK or job.state in (JobState.DONE, JobState.CANCELLED):
        raise UsageError(f"job {job.id} is a {job.kind} that is {job.state}: it can't be resumed", "start a new one")
    return job


def _run(
    url: str,
    statement: str,
    options: CheckOptions,
    limit: int | None,
    where: tuple[SparkSession | SparkSettings | None, str, Listener],
    resume: str | None = None,
) -> CheckReport:
    # pyspark imports itself in circles: it is loaded here, before two threads could meet in one.
    import tieout.spark.session  # noqa: F401
    from tieout.connectors.registry import open_checker
    from tieout.scrub.job import CheckJob

    spark, meta, listener = where
    asked, parsed = parse_check(statement), parse_url(url)
    with ExitStack() as stack:
        store = stack.enter_context(open_store(meta))
        pool = stack.enter_context(ThreadPoolExecutor(1))
        checker = stack.enter_context(closing(open_checker(parsed)))
        session = pool.submit(session_of, spark)
        job = CheckJob(store, asked, checker, parsed.redacted(), options, limit, listener)
        return job.run(session.result, resume)


def split_checks(text: str) -> list[str]:
    """The statements of a file."""
    from tieout.scrub.statements import split_statements

    return split_statements(text)


def parse_check(statement: str) -> CheckStatement:
    """What a statement asks for; StatementError, which points at the place, for what is none."""
    from tieout.scrub.statements import parse_statement

    return parse_statement(statement)
