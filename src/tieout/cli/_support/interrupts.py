"""Ctrl-C, SIGTERM and other terminals: how work stops, and how the user can resume it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

import typer

from tieout.cli._support.output import write_stderr
from tieout.exit_codes import ExitCode


@contextmanager
def interruptible(command: str | None = None) -> Iterator[None]:
    """Ends the command with 130 and one line when somebody stops the work inside; the line says how to resume it.

    `command` resumes the work; "JOB" in it stands for the job. None: the user has to start over.
    """
    try:
        yield
    except KeyboardInterrupt as stopped:
        job, state = getattr(stopped, "job", None), getattr(stopped, "state", None)
        what = f"job {job} is {state}" if job else "interrupted"
        resumable = command is not None and state != "cancelled" and (job or "JOB" not in command)
        write_stderr(f"{what}: continue with {command.replace('JOB', str(job))}" if command and resumable else what)
        raise typer.Exit(ExitCode.of_error(stopped)) from None


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def watch_signals() -> Iterator[None]:
    """Inside, the first signal raises KeyboardInterrupt; a second one ends the process without tidying up.

    The meta store keeps what is recorded; a job whose process is gone counts as interrupted.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signals = 0

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal signals
        signals += 1
        if signals > 1:
            os._exit(ExitCode.INTERRUPTED)
        with suppress(OSError):
            # Not through sys.stderr: the signal may have come in the middle of a write to it.
            os.write(2, b"stopping; a second signal ends at once\n")
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
