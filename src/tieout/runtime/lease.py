"""One mover for a task: who starts a second one is told so, and who was thought dead can't write any more."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tieout.config.urls import EndpointUrl
from tieout.connectors.moving import Target
from tieout.errors import FencedError, LogLostError, TieoutError, UsageError
from tieout.model.moving import Fence
from tieout.runtime.pulse import pulse

SILENT_SECONDS = 30
"""A mover not heard of for this long does not stand in the way of another one."""


@contextmanager
def owned(target: Target, url: EndpointUrl, task: str) -> Iterator[Fence]:
    """Inside, no other mover can write for the task. UsageError while another one is heard of."""
    fence = taken(target, task)
    try:
        with pulse(url, fence):
            yield fence
    except FencedError:
        raise
    except BaseException as error:
        if isinstance(error, LogLostError):
            _require_own(target, fence)
        with suppress(TieoutError):
            target.progress.release(fence)
        raise
    target.progress.release(fence)


def _require_own(target: Target, fence: Fence) -> None:
    """FencedError if another mover has taken over: the source let go of the log for that one, and nothing is lost."""
    try:
        target.reconnect()
        target.progress.check(fence, lock="")
    except FencedError:
        raise
    except TieoutError:
        return  # what is lost is the better news


def taken(target: Target, task: str) -> Fence:
    """The right to write for the task. UsageError while another mover is heard of."""
    known = target.progress.read(task)
    if known is not None and known.silent_for < SILENT_SECONDS and _may_live(known.owner):
        raise UsageError(
            f"another mover runs the task {task}: {known.owner}, heard of {known.silent_for:.0f} seconds ago",
            "stop it there",
        )
    return target.progress.take(task, f"process {os.getpid()} on {socket.gethostname()}")


def _may_live(owner: str) -> bool:
    """Whether a mover that was heard of lately may still run: one of this machine can be looked for."""
    words = owner.split()
    if words[-1] != socket.gethostname():
        return True
    try:
        os.kill(int(words[1]), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
