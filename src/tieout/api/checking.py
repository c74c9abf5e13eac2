"""Checking one database against itself."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

from tieout.api.sessions import SparkSettings, session_of
from tieout.config.urls import parse_url
from tieout.meta import DEFAULT_URL, open_store
from tieout.model.failures import CheckReport
from tieout.model.statements import CheckStatement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def check(
    url: str,
    statement: str,
    *,
    spark: SparkSession | SparkSettings | None = None,
    meta: str = DEFAULT_URL,
    limit: int | None = 1000,
    **options: Any,
) -> CheckReport:
    """Makes the checks that a CHECK statement asks for. `options` are those of CheckOptions; `limit` cuts the list of
    failures, not their counts.
    """
    # pyspark imports itself in circles: it is loaded here, before two threads could meet in one.
    import tieout.spark.session  # noqa: F401
    from tieout.connectors.registry import open_checker
    from tieout.scrub.indexes.comparing import CheckOptions
    from tieout.scrub.job import CheckJob

    asked, parsed = parse_check(statement), parse_url(url)
    with ExitStack() as stack:
        store = stack.enter_context(open_store(meta))
        pool = stack.enter_context(ThreadPoolExecutor(1))
        checker = stack.enter_context(closing(open_checker(parsed)))
        session = pool.submit(session_of, spark)
        job = CheckJob(store, asked, checker, parsed.redacted(), CheckOptions(**options), limit)
        return job.run(session.result)


def split_checks(text: str) -> list[str]:
    """The statements of a file."""
    from tieout.scrub.statements import split_statements

    return split_statements(text)


def parse_check(statement: str) -> CheckStatement:
    """What a statement asks for; StatementError, which points at the place, for what is none."""
    from tieout.scrub.statements import parse_statement

    return parse_statement(statement)
