"""Ctrl-C and SIGTERM: the first ends the work in order, the second at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from tieout.exit_codes import ExitCode

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def watch_signals() -> Iterator[None]:
    """Inside, the first signal raises KeyboardInterrupt; a second one leaves without tidying up.

    What is recorded stays: a job whose process is gone counts as interrupted.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard = 0

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal heard
        heard += 1
        if heard > 1:
            os._exit(ExitCode.INTERRUPTED)
        with suppress(OSError):
            # Not through sys.stderr: the signal may have come in the middle of a write to it.
            os.write(2, b"stopping; once more ends at once\n")
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
