"""Says in the target, now and then, that a mover is alive: another one that finds it so does not start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from threading import Event, Thread

from tieout.config.urls import EndpointUrl
from tieout.connectors.registry import open_target
from tieout.errors import TieoutError
from tieout.model.moving import Fence

EVERY_SECONDS = 5.0


@contextmanager
def pulse(url: EndpointUrl, fence: Fence) -> Iterator[None]:
    """Until the block ends, on a connection of its own. What is wrong with the target shows where it is written."""
    done = Event()

    def beat() -> None:
        while not done.is_set():
            try:
                with closing(open_target(url)) as target:
                    while not done.wait(EVERY_SECONDS):
                        target.progress.hear(fence)
            except TieoutError:
                done.wait(EVERY_SECONDS)

    thread = Thread(target=beat, name="tieout-pulse", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
