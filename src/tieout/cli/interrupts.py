"""What is said of work that was stopped, here or from another terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from tieout.cli.output import say
from tieout.exit_codes import ExitCode


@contextmanager
def told_how_to_go_on(command: str | None = None) -> Iterator[None]:
    """Work that is stopped inside ends the command with 130 and a line that says how to go on.

    `command` takes it up again; "JOB" in it stands for the job. None: it has to begin anew.
    """
    try:
        yield
    except KeyboardInterrupt as stopped:
        job, state = getattr(stopped, "job", None), getattr(stopped, "state", None)
        what = f"job {job} is {state}" if job else "interrupted"
        resumable = command is not None and state != "cancelled" and (job or "JOB" not in command)
        say(f"{what}: go on with {command.replace('JOB', str(job))}" if command and resumable else what)
        raise typer.Exit(ExitCode.of_error(stopped)) from None
