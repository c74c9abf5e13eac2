"""Whether a move could begin: endpoints, meta store, Java, and then all that the two sides have to say."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from typing import TypeVar

from tieout.config.urls import EndpointUrl
from tieout.connectors.registry import open_endpoint, open_source, open_target
from tieout.errors import TieoutError
from tieout.model.forecast import Preflight, Problem, Severity
from tieout.model.move_requests import MoveRequest
from tieout.move.foresight import Foresight
from tieout.verify.preflight import as_problem
from tieout.verify.readiness import facts, java_problems, meta_problems

T = TypeVar("T")


def examine_move(request: MoveRequest, urls: tuple[EndpointUrl, EndpointUrl], meta: str) -> Preflight:
    """Looks at everything; what can't be reached is a problem like any other. Starts no Spark."""
    problems = [*meta_problems(meta), *java_problems()]
    with ExitStack() as stack, ThreadPoolExecutor(2) as pool:
        opened = [pool.submit(open_endpoint, url) for url in urls]
        source, target = (facts(url, future) for url, future in zip(urls, opened, strict=True))
        reached = [
            _reached(future.result, side, problems) for side, future in zip(("source", "target"), opened, strict=True)
        ]
        for endpoint in reached:
            if endpoint is not None:
                stack.enter_context(closing(endpoint))
        left, right = reached
        if left is None or right is None:
            return Preflight(source, target, tuple(problems))
        from_ = _reached(lambda: open_source(urls[0]), "source", problems)
        to = _reached(lambda: open_target(urls[1]), "target", problems)
        if from_ is None or to is None:
            return Preflight(source, target, tuple(problems))
        stack.enter_context(closing(to))
        try:
            found, move = Foresight(request, (left, right), from_, to).look_ahead()
        except TieoutError as error:
            return Preflight(source, target, (*problems, as_problem(error, Severity.PREVENTS)))
        return Preflight(source, target, (*problems, *found), move=move)


def _reached(open_it: Callable[[], T], side: str, problems: list[Problem]) -> T | None:
    try:
        return open_it()
    except TieoutError as error:
        problems.append(as_problem(error, Severity.PREVENTS, side))
        return None
