"""What may happen to servers, and what a mover does then. The table in the docs is made of these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

import pytest

from tests.integration.failover.tasks import Task
from tieout import api
from tieout.errors import LogLostError

Test = TypeVar("Test", bound=Callable[..., Any])


class Outcome(StrEnum):
    GOES_ON = "continues; nothing is lost or duplicated"
    LOST = "ends with `log-lost`; the target is not changed"
    STOPS = "stops those tables and says why; the others continue"


@dataclass(frozen=True)
class Case:
    """What happens to which server, and what the mover does that is started, or runs on, after it."""

    server: str
    happens: str
    outcome: Outcome
    because: str
    test: str


CASES: list[Case] = []


def case(server: str, happens: str, outcome: Outcome, because: str) -> Callable[[Test], Test]:
    """The test shows it."""

    def noted(test: Test) -> Test:
        CASES.append(Case(server, happens, outcome, because, test.__name__))
        return test

    return noted


def goes_on(task: Task) -> None:
    task.run()
    assert task.is_equal(), task.arrived()


def is_lost(task: Task, words: str = "") -> None:
    """And nothing is written: not even what could be read."""
    before, told = task.arrived(), api.move_status(task.request.task, task.meta)
    with pytest.raises(LogLostError, match=words or None):
        _goes_on_after_all(task, f"{told}, {before}")
    assert task.arrived() == before


def _goes_on_after_all(task: Task, before: str) -> None:
    """Says what it did: pytest would only say that nothing was raised."""
    status = task.run()
    pytest.fail(f"it went on: {before}; then {status}, {task.arrived()}")
