"""tieout run"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from tieout.cli._support import options as common
from tieout.cli._support.context import load_context
from tieout.cli._support.interrupts import interruptible
from tieout.cli._support.output import result_stream, write_stderr
from tieout.errors import UsageError
from tieout.exit_codes import ExitCode
from tieout.report.render import OutputFormat

if TYPE_CHECKING:
    from tieout.model.move_status import MoveStatus

_EVERY = 5.0
"""Seconds between two lines of progress."""

UntilCaughtUp = Annotated[
    bool,
    typer.Option("--until-caught-up", help="End when everything that was in the log when copying ended is applied."),
]

Finish = Annotated[
    bool,
    typer.Option(
        "--finish",
        help="End like --until-caught-up, then set counters, validate foreign keys, update statistics, and list what "
        "was not moved.",
    ),
]


def run(
    task: common.MovingTask,
    until_caught_up: UntilCaughtUp = False,
    finish: Finish = False,
    master: common.Master = None,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> ExitCode:
    """Copy a task's tables while applications write to them, then follow the source's change log."""
    from tieout import api
    from tieout.report.move_status import progress_line, write_status

    context = load_context(config, meta, master, required=True)
    if not context.settings.task(task).is_moved:
        # `tieout verify` compares it as two databases that nobody moves: a `where` leaves out rows of both.
        raise UsageError(f"the task {task} does not say that it is moved", "add `move: {}` to the task")
    request = context.settings.move_request(task)
    last_line = 0.0

    def show(status: MoveStatus) -> None:
        nonlocal last_line
        if not quiet and time.monotonic() - last_line > _EVERY:
            last_line = time.monotonic()
            write_stderr(progress_line(status))

    with interruptible(f"tieout run {task}"):
        status = api.run_move(
            request,
            spark=context.spark(verbose, redacts=request.redact_values),
            meta=context.meta,
            listener=show,
            until_caught_up=until_caught_up,
            finish=finish,
        )
    with result_stream() as stream:
        write_status(status, output, stream, details=False)
    return status.exit_code
