"""tieout run"""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from tieout.cli import options as common
from tieout.cli.interrupts import told_how_to_go_on
from tieout.cli.move_words import MovingTask, status_values, told_line
from tieout.cli.output import result_stream, say
from tieout.cli.place import place
from tieout.exit_codes import ExitCode
from tieout.report.render import OutputFormat

_EVERY = 5.0

UntilCaughtUp = Annotated[
    bool, typer.Option("--until-caught-up", help="End when all is applied that was in the log when copying ended.")
]


def run(
    task: MovingTask,
    until_caught_up: UntilCaughtUp = False,
    master: common.Master = None,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> ExitCode:
    """Copies a task's tables while they are written to, then follows the source's change log."""
    from tieout import api
    from tieout.report.listing import write_record

    here = place(config, meta, master, required=True)
    request = here.settings.move_request(task)
    told = [0.0]

    def tell(status: dict[str, Any]) -> None:
        if not quiet and time.monotonic() - told[0] > _EVERY:
            told[0] = time.monotonic()
            say(told_line(status))

    with told_how_to_go_on(f"tieout run {task}"):
        status = api.run_move(
            request,
            spark=here.spark(verbose, redacts=request.redact_values),
            meta=here.meta,
            tell=tell,
            until_caught_up=until_caught_up,
        )
    with result_stream() as stream:
        write_record(status_values(status) if output is OutputFormat.TEXT else status, output, stream)
    # What is moved is right, and not all of it is.
    return ExitCode.of_work(incomplete=any(table["stopped"] for table in status["tables"]))
