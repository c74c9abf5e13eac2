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
    """Makes both streams take every character, whatever the locale; a character that UTF-8 can't encode is escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


@contextmanager
def result_stream() -> Iterator[TextIO]:
    """Stdout, for the result. A reader that closes the pipe early (`| head`) causes no error; a full disk does."""
    if sys.stdout is None:
        raise UsageError("stdout is closed: there is nowhere to write the result")
    try:
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_the_rest()
    except OSError as error:
        _discard_the_rest()
        raise UsageError(f"can't write the result: {error.strerror or error}") from None


def write_stderr(line: str) -> None:
    """Writes a line to stderr. A closed stderr is not a reason to fail."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass


def _discard_the_rest() -> None:
    """Python would write the rest of the buffer, and fail once more, when it ends."""
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


@dataclass(frozen=True, slots=True)
class OutputOptions:
    output: OutputFormat = OutputFormat.TEXT
    quiet: bool = False
    verbose: bool = False


def progress_to_stderr(output_options: OutputOptions) -> AbstractContextManager[Listener]:
    from tieout.report.progress import progress_listener

    return progress_listener(sys.stderr, output_options.quiet)


def silence_libraries(verbose: bool) -> None:
    """Shows the logs and warnings of libraries only with --verbose, and without secrets."""
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
