"""What is said of a job that was stopped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from tieout.cli.output import say

INTERRUPTED = 130


@contextmanager
def told_how_to_resume() -> Iterator[None]:
    """A job that is stopped inside, from here or from another terminal, ends the command with 130 and a line."""
    try:
        yield
    except KeyboardInterrupt as stopped:
        job, state = getattr(stopped, "job", None), getattr(stopped, "state", None)
        if job is None:
            say("interrupted")
        elif state == "cancelled":
            say(f"job {job} was cancelled")
        else:
            say(f"job {job} is {state}: go on with tieout verify --resume {job}")
        raise typer.Exit(INTERRUPTED) from None
