"""Who may work on something: leases with heartbeats, and how one that fell silent is taken over.

A job's lease is in the meta store. A task's lease is in its target, beside the rows: whoever takes it over fences the
one before off, which can't write any more, wherever it runs.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from threading import Event, Thread

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.move import Target
from tieout.connectors.registry import open_target
from tieout.errors import FencedError, LogLostError, MetaStoreError, TieoutError, UsageError
from tieout.meta.jobs import Jobs
from tieout.meta.ownership import HEARTBEAT_SECONDS
from tieout.model.moves import Fence

SILENT_SECONDS = 30
"""A mover that sent no heartbeat for this long does not stand in the way of another one."""


@contextmanager
def heartbeat(jobs: Jobs, job_id: str) -> Iterator[None]:
    """Beats until the block ends. A store that can't be written is noticed where results are kept, not here."""

    def beat(done: Event) -> None:
        while not done.wait(HEARTBEAT_SECONDS):
            with suppress(MetaStoreError):
                jobs.heartbeat(job_id)

    with _beside("tieout-heartbeat", beat):
        yield


@contextmanager
def task_lease(target: Target, url: EndpointUrl, task: str) -> Iterator[Fence]:
    """Inside, no other mover can write for the task. UsageError while another one sends heartbeats."""
    fence = take_task(target, task)

    def beat(done: Event) -> None:
        """On a connection of its own. What is wrong with the target shows where it is written."""
        while not done.is_set():
            try:
                with closing(open_target(url)) as own:
                    while not done.wait(HEARTBEAT_SECONDS):
                        own.progress.hear(fence)
            except TieoutError:
                done.wait(HEARTBEAT_SECONDS)

    try:
        with _beside("tieout-lease", beat):
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


def take_task(target: Target, task: str) -> Fence:
    """The right to write for the task. UsageError while another mover sends heartbeats."""
    known = target.progress.read(task)
    if known is not None and known.silent_for < SILENT_SECONDS and _may_live(known.owner):
        raise UsageError(
            f"another mover runs the task {task}: {known.owner}, last heartbeat {known.silent_for:.0f} s ago",
            "stop that mover first",
        )
    return target.progress.take(task, f"process {os.getpid()} on {socket.gethostname()}")


def _require_own(target: Target, fence: Fence) -> None:
    """FencedError if another mover has taken over: the source let go of the log for that one, and nothing is lost."""
    try:
        target.reconnect()
        target.progress.check(fence, lock="")
    except FencedError:
        raise
    except TieoutError:
        return  # what is lost is the better news


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


@contextmanager
def _beside(name: str, work: Callable[[Event], None]) -> Iterator[None]:
    """Runs the work in a thread until the block ends, which sets the event."""
    done = Event()
    thread = Thread(target=work, args=(done,), name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
