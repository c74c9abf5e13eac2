"""What is being done, told on stderr while it is done: bars on a terminal, a line now and then elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from tieout.model.progress import Listener, silence
from tieout.report.progress_bars import TerminalProgress
from tieout.report.progress_lines import LineProgress
from tieout.report.terminal import console_on

__all__ = ["LineProgress", "TerminalProgress", "progress_listener"]


@contextmanager
def progress_listener(stream: TextIO, quiet: bool = False) -> Iterator[Listener]:
    """The listener that suits the stream; it may be called from any thread, until the context ends."""
    if quiet:
        yield silence
        return
    console = console_on(stream)
    if console.is_terminal and not console.is_dumb_terminal:
        with TerminalProgress(console) as bars:
            yield bars
    else:
        yield LineProgress(stream)
