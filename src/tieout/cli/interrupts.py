"""What is said of work that was stopped, here or from another terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from tieout.cli.output import say

INTERRUPTED = 130


@contextmanager
def told_how_to_resume() -> Iterator[None]:
    """A verification that is stopped inside ends the command with 130 and a line that says how to go on."""
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


@contextmanager
def told_how_to_go_on(command: str | None) -> Iterator[None]:
    """The same for work that the same command takes up again; None: it has to begin anew."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"interrupted: go on with {command}" if command else "interrupted")
        raise typer.Exit(INTERRUPTED) from None
