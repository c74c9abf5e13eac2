"""tieout status"""

from __future__ import annotations

from typing import Annotated

import typer

from tieout.cli._support import options as common
from tieout.cli._support.context import place
from tieout.cli._support.output import result_stream
from tieout.errors import UsageError
from tieout.report.render import OutputFormat

OneTask = Annotated[str | None, typer.Argument(metavar="[TASK]", help="A task; all of them unless given.")]


def status(
    task: OneTask = None,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """Tells what the movers of tasks do, and how far they are."""
    from tieout import api
    from tieout.report.move_status import write_status, write_statuses

    here = place(config, meta)
    if task is None:
        statuses = api.move_statuses(here.meta)
        with result_stream() as stream:
            write_statuses(statuses, output, stream)
        return
    # What a source keeps for a mover that is gone, only the source knows.
    source = here.settings.move_request(task).source if task in here.settings.tasks else None
    found = api.move_status(task, here.meta, source=source)
    if found is None:
        raise UsageError(f"the task {task} was never run", f"start it: tieout run {task}")
    with result_stream() as stream:
        write_status(found, output, stream)
