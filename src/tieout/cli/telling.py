"""How a command tells what it does, and what came of it."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tieout.report.render import OutputFormat

if TYPE_CHECKING:
    from tieout.model.progress_events import Listener


@dataclass(frozen=True, slots=True)
class Telling:
    output: OutputFormat = OutputFormat.TEXT
    quiet: bool = False
    verbose: bool = False


def progress_to_stderr(telling: Telling) -> AbstractContextManager[Listener]:
    from tieout.report.progress import progress_listener

    return progress_listener(sys.stderr, telling.quiet)
