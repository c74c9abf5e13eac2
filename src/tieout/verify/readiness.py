"""Whether a verification could begin: endpoints, meta store, Java, and then all that the tables have to say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

from tieout.config.urls import EndpointUrl
from tieout.connectors.base import Endpoint
from tieout.errors import TieoutError
from tieout.meta import open_store
from tieout.model.forecast import EndpointFacts, Preflight, Problem, Severity
from tieout.model.requests import VerifyRequest
from tieout.spark.java import java_version
from tieout.verify.endpoints import open_any
from tieout.verify.preflight import as_problem, look_ahead

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OLDEST_JAVA = 17


def examine(
    request: VerifyRequest, urls: tuple[EndpointUrl, EndpointUrl], meta: str, session: Callable[[], SparkSession]
) -> Preflight:
    """Looks at everything; what can't be reached is a problem like any other."""
    problems = [*meta_problems(meta), *java_problems()]
    with ExitStack() as stack, ThreadPoolExecutor(2) as pool:
        opened = [pool.submit(open_any, url, session) for url in urls]
        reached: list[Endpoint] = []
        for side, future in zip(("source", "target"), opened, strict=True):
            try:
                reached.append(stack.enter_context(closing(future.result())))
            except TieoutError as error:
                problems.append(as_problem(error, Severity.PREVENTS, side))
        source, target = (facts(url, future) for url, future in zip(urls, opened, strict=True))
        if len(reached) < 2:
            return Preflight(source, target, tuple(problems))
        try:
            found, tables = look_ahead(reached[0], reached[1], request)
        except TieoutError as error:
            return Preflight(source, target, (*problems, as_problem(error, Severity.PREVENTS)))
        return Preflight(source, target, (*problems, *found), tuple(tables))


def facts(url: EndpointUrl, opened: Future[Endpoint]) -> EndpointFacts:
    return EndpointFacts(url.redacted(), None if opened.exception() else opened.result().version)


def meta_problems(meta: str) -> Iterator[Problem]:
    try:
        open_store(meta).close()
    except TieoutError as error:
        yield as_problem(error, Severity.PREVENTS)


def java_problems() -> Iterator[Problem]:
    version = java_version()
    install = f"install Java {_OLDEST_JAVA} or later, or set JAVA_HOME"
    if version is None:
        yield Problem(Severity.PREVENTS, "Spark needs Java, and there is none", install)
    elif version.split(".")[0].isdigit() and int(version.split(".")[0]) < _OLDEST_JAVA:
        yield Problem(Severity.PREVENTS, f"Spark needs Java {_OLDEST_JAVA}, and this one is {version}", install)
