"""Where a command writes: the result to stdout, everything else to stderr."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from typing import TYPE_CHECKING, TextIO

from tieout.config.secrets import SecretFilter
from tieout.errors import UsageError
from tieout.report.render import OutputFormat

if TYPE_CHECKING:
    from tieout.model.progress_events import Listener


def prepare_streams() -> None:
    """Both streams take every character, whatever the locale; a character that no encoding holds is escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


@contextmanager
def result_stream() -> Iterator[TextIO]:
    """Stdout, for the result. A reader that has seen enough (`| head`) is no error; a full disk is one."""
    if sys.stdout is None:
        raise UsageError("stdout is closed: there is nowhere to write the result")
    try:
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_the_rest()
    except OSError as error:
        _discard_the_rest()
        raise UsageError(f"the result can't be written: {error.strerror or error}") from None


def say(line: str) -> None:
    """A line to stderr; nobody there to read it is no reason to fail."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass


def _discard_the_rest() -> None:
    """What is left in the buffer would be written, and fail, once more when Python ends."""
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


@dataclass(frozen=True, slots=True)
class Telling:
    output: OutputFormat = OutputFormat.TEXT
    quiet: bool = False
    verbose: bool = False


def progress_to_stderr(telling: Telling) -> AbstractContextManager[Listener]:
    from tieout.report.progress import progress_listener

    return progress_listener(sys.stderr, telling.quiet)


def quieten(verbose: bool) -> None:
    """Library logs and warnings are shown with --verbose alone, and without secrets."""
    root = logging.getLogger()
    if root.handlers:
        return
    if not verbose:
        # Without a handler Python writes warnings to stderr: py4j's tracebacks, when a job is interrupted.
        root.addHandler(logging.NullHandler())
        warnings.simplefilter("ignore")
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s"))
    handler.addFilter(SecretFilter())
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    logging.captureWarnings(True)
