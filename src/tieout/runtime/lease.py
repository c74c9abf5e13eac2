"""Leases: who may run a job or a task, the heartbeats that prove it, and how another process takes over a silent one.

A job's lease is in the meta store. A task's lease is in its target, beside the rows: a mover that takes it over fences
off the one before, which can't write any more, wherever it runs.
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
"""Seconds without a heartbeat after which another mover may take over the task."""


@contextmanager
def heartbeat(jobs: Jobs, job_id: str) -> Iterator[None]:
    """Sends heartbeats until the block ends. Ignores a store that can't be written: recording results reports it."""

    def beat(done: Event) -> None:
        while not done.wait(HEARTBEAT_SECONDS):
            with suppress(MetaStoreError):
                jobs.heartbeat(job_id)

    with _beside("tieout-heartbeat", beat):
        yield


@contextmanager
def task_lease(target: Target, url: EndpointUrl, task: str) -> Iterator[Fence]:
    """Inside the block, no other mover can write for the task. Raises UsageError while another one sends heartbeats."""
    fence = take_task(target, task)

    def beat(done: Event) -> None:
        """Uses its own connection. Ignores errors of the target: writing rows reports them."""
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
    """Takes the right to write for the task. Raises UsageError while another mover sends heartbeats."""
    known = target.progress.read(task)
    if known is not None and known.silent_for < SILENT_SECONDS and _may_live(known.owner):
        raise UsageError(
            f"another mover runs the task {task}: {known.owner}, last heartbeat {known.silent_for:.0f} s ago",
            "stop that mover first",
        )
    return target.progress.take(task, owner())


def owner() -> str:
    """How this process is named to others that want its task."""
    return f"process {os.getpid()} on {socket.gethostname()}"


def _require_own(target: Target, fence: Fence) -> None:
    """Raises FencedError if another mover has taken over: then the source released the log for that one, and nothing is
    lost."""
    try:
        target.reconnect()
        target.progress.check(fence, lock="")
    except FencedError:
        raise
    except TieoutError:
        return  # the lost log is the more useful error


def _may_live(owner: str) -> bool:
    """Whether a mover with a recent heartbeat may still run: a process of this machine can be looked up."""
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
    """Runs the work in a thread until the block ends and sets the event."""
    done = Event()
    thread = Thread(target=work, args=(done,), name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
