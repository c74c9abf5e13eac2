"""Stops a mover's own process at a place, as a machine that sleeps does. It goes on with SIGCONT, none the wiser."""

from __future__ import annotations

import os
import signal
from typing import Any

from tieout.connectors.sql.progress import ProgressTables
from tieout.move.table_mover import TableMover


def before_the_log_is_begun() -> None:
    """It has seen that no mover did."""
    begin, read = TableMover._begin_log, ProgressTables.read

    def read_and_stop(progress: ProgressTables, task: str) -> Any:
        known = read(progress, task)
        _stop()
        return known

    def begin_stopped(mover: TableMover) -> Any:
        ProgressTables.read = read_and_stop  # type: ignore[method-assign]
        try:
            return begin(mover)
        finally:
            ProgressTables.read = read  # type: ignore[method-assign]

    TableMover._begin_log = begin_stopped  # type: ignore[method-assign]


def before_tables_are_finished() -> None:
    """All rows are copied."""
    finish = TableMover._finish

    def finish_stopped(mover: TableMover, **arguments: Any) -> Any:
        _stop()
        return finish(mover, **arguments)

    TableMover._finish = finish_stopped  # type: ignore[method-assign]


def _stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)
