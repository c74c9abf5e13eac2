"""Checkers whose reads of one table may be of one moment that the server holds for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, runtime_checkable


@runtime_checkable
class HoldsMoments(Protocol):
    """A moment that is held keeps the server from clearing away what was changed since: it is never held for long."""

    def let_go(self) -> None:
        """No path that was given by now is read any more. Those that are asked for later are of another moment."""


@contextmanager
def let_go_after(checker: object) -> Iterator[None]:
    """Whatever ends the block."""
    try:
        yield
    finally:
        if isinstance(checker, HoldsMoments):
            checker.let_go()
