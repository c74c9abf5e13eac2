"""One transaction of a repair: begun anew if it has to give way to others, and nothing is left of one that fails."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar

import stamina

from tieout.connectors.protocols.repair import Refused, TryAgain, Writer

T = TypeVar("T")

ATTEMPTS = 3
"""How often a transaction is begun that has to give way to others."""


class End(StrEnum):
    """What became of a change that was taken up."""

    DONE = "done"
    ALREADY = "already"
    """The row was as the change would leave it."""
    CHANGED = "changed"
    """It was neither as before nor as after: left alone."""
    REFUSED = "refused"
    """The engine, or what stands around the row, does not allow it; later it may."""
    KEPT = "kept"
    """Undo leaves it: nothing is lost by it."""


def in_transaction(
    writer: Writer, work: Callable[[], T], *, commits: Callable[[T], bool] = lambda _: True, deferred: bool = False
) -> T:
    """What the work returns; committed if `commits` says so, else rolled back.

    Refused if other transactions are always in the way. Whatever is raised, nothing has been changed, except that a
    lost connection may hide a commit. `deferred`: constraints that can wait are checked at the end.
    """
    try:
        for attempt in stamina.retry_context(on=TryAgain, attempts=ATTEMPTS, wait_initial=0.1, wait_jitter=0.1):
            with attempt:
                return _once(writer, work, commits, deferred)
    except TryAgain as contention:
        raise Refused(f"another transaction is in the way: {contention}") from None
    raise AssertionError("the last attempt returns or raises")


def _once(writer: Writer, work: Callable[[], T], commits: Callable[[T], bool], deferred: bool) -> T:
    try:
        writer.begin(deferred=deferred)
        done = work()
        if commits(done):
            writer.commit()
        else:
            writer.rollback()
    except BaseException:
        writer.rollback()
        raise
    return done
