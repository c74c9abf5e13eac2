"""Work that goes on while a test does something else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread


@contextmanager
def in_background(work: Callable[[Event], None]) -> Iterator[None]:
    """Runs until the block ends; what it raised is raised there."""
    done = Event()
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work(done)
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
    if errors:
        raise errors[0]
