"""Preflight of a task: checks both endpoints, the meta store and Java, then what the flow itself asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.endpoint import Endpoint
from tieout.errors import TieoutError
from tieout.meta import open_store
from tieout.model.preflight import EndpointFacts, Preflight, Problem, Severity
from tieout.spark.java import java_version

_OLDEST_JAVA = 17

LookAhead = Callable[[Endpoint, Endpoint, Preflight], Preflight]
"""Adds what a flow finds out about two endpoints that answered."""


def examine(
    urls: tuple[EndpointUrl, EndpointUrl], meta: str, open_url: Callable[[EndpointUrl], Endpoint], look: LookAhead
) -> Preflight:
    """Checks everything; an endpoint that does not answer is a problem like any other."""
    problems = [*_meta_problems(meta), *_java_problems()]
    with ExitStack() as stack, ThreadPoolExecutor(2) as pool:
        opened = [pool.submit(open_url, url) for url in urls]
        reached: list[Endpoint] = []
        for side, future in zip(("source", "target"), opened, strict=True):
            try:
                reached.append(stack.enter_context(closing(future.result())))
            except TieoutError as error:
                problems.append(as_problem(error, Severity.PREVENTS, side))
        source, target = (_facts(url, future) for url, future in zip(urls, opened, strict=True))
        found = Preflight(source, target, tuple(problems))
        if len(reached) < 2:
            return found
        try:
            return look(reached[0], reached[1], found)
        except TieoutError as error:
            return with_problems(found, [as_problem(error, Severity.PREVENTS)])


def with_problems(preflight: Preflight, problems: Sequence[Problem]) -> Preflight:
    return replace(preflight, problems=(*preflight.problems, *problems))


def as_problem(error: TieoutError, severity: Severity, side: str | None = None, table: str | None = None) -> Problem:
    return Problem(severity, error.message, error.hint, side, table)


def untested(side: str, endpoint: Endpoint) -> Iterator[Problem]:
    """A note, if Tieout's tests do not cover this engine."""
    dialect = endpoint.capabilities.untested
    if dialect:
        fix = "verify a table that you know first"
        yield Problem(Severity.NOTE, f"Tieout's tests do not cover {dialect}", fix, side)


def _facts(url: EndpointUrl, opened: Future[Endpoint]) -> EndpointFacts:
    return EndpointFacts(url.redacted(), None if opened.exception() else opened.result().version)


def _meta_problems(meta: str) -> Iterator[Problem]:
    try:
        open_store(meta).close()
    except TieoutError as error:
        yield as_problem(error, Severity.PREVENTS)


def _java_problems() -> Iterator[Problem]:
    version = java_version()
    install = f"install Java {_OLDEST_JAVA} or later, or set JAVA_HOME"
    if version is None:
        yield Problem(Severity.PREVENTS, "Spark needs Java, and none was found", install)
    elif version.split(".")[0].isdigit() and int(version.split(".")[0]) < _OLDEST_JAVA:
        yield Problem(
            Severity.PREVENTS, f"Spark needs Java {_OLDEST_JAVA} or later, and this is Java {version}", install
        )
