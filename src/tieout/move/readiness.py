"""Whether a move could begin, and what it would promise."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import TypeVar

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.endpoint import Endpoint
from tieout.connectors.registry import open_endpoint, open_source, open_target
from tieout.errors import TieoutError
from tieout.model.forecast import Preflight, Problem, Severity
from tieout.model.move_requests import MoveRequest
from tieout.move.foresight import Foresight
from tieout.tasks.preflight import as_problem, examine, with_problems

T = TypeVar("T")


def preflight_move(request: MoveRequest, urls: tuple[EndpointUrl, EndpointUrl], meta: str) -> Preflight:
    """All that stands in the way of a move. Starts no Spark."""

    def look(left: Endpoint, right: Endpoint, found: Preflight) -> Preflight:
        problems: list[Problem] = []
        source = _reached(lambda: open_source(urls[0]), "source", problems)
        target = _reached(lambda: open_target(urls[1]), "target", problems)
        if source is None or target is None:
            return with_problems(found, problems)
        with closing(target):
            problems, move = Foresight(request, (left, right), source, target).look_ahead()
        return replace(with_problems(found, problems), move=move)

    return examine(urls, meta, open_endpoint, look)


def _reached(open_it: Callable[[], T], side: str, problems: list[Problem]) -> T | None:
    try:
        return open_it()
    except TieoutError as error:
        problems.append(as_problem(error, Severity.PREVENTS, side))
        return None
