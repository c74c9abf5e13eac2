"""tieout status"""

from __future__ import annotations

from typing import Annotated

import typer

from tieout.cli._support import options as common
from tieout.cli._support.context import load_context
from tieout.cli._support.output import result_stream
from tieout.errors import UsageError
from tieout.report.render import OutputFormat

OneTask = Annotated[str | None, typer.Argument(metavar="[TASK]", help="A task (default: all tasks).")]


def status(
    task: OneTask = None,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """Show what the movers of tasks are doing and how far they are."""
    from tieout import api
    from tieout.report.move_status import write_status, write_statuses

    context = load_context(config, meta)
    if task is None:
        statuses = api.move_statuses(context.meta)
        with result_stream() as stream:
            write_statuses(statuses, output, stream)
        return
    # Only the source knows what it keeps for a mover that is gone.
    source = context.settings.move_request(task).source if task in context.settings.tasks else None
    found = api.move_status(task, context.meta, source=source)
    if found is None:
        raise UsageError(f"task {task} has never run", f"start it: tieout run {task}")
    with result_stream() as stream:
        write_status(found, output, stream)
