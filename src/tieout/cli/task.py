"""tieout task: tasks as a whole."""

from __future__ import annotations

import typer

from tieout.cli._support import options as common
from tieout.cli._support.context import place
from tieout.cli._support.output import result_stream
from tieout.report.render import OutputFormat

app = typer.Typer(help="Tasks as a whole.")


@app.command("list")
def list_(
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """Lists the tasks of the configuration, and what their movers do."""
    from tieout import api
    from tieout.report.listing import write_listing

    here = place(config, meta, required=True)
    states = {status.task: status.state for status in api.move_statuses(here.meta)}
    rows = [
        {"task": name, "delivery": task.delivery, "state": states.get(name)}
        for name, task in here.settings.tasks.items()
    ]
    with result_stream() as stream:
        write_listing(("task", "delivery", "state"), rows, output, stream)


@app.command("drop")
def drop(
    task: common.MovingTask,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """Removes what a task left on both sides: slot, publication, progress, stages. The moved tables stay."""
    from tieout import api
    from tieout.report.move_status import write_dropped

    here = place(config, meta, required=True)
    dropped = api.drop_move(here.settings.move_request(task), here.meta)
    with result_stream() as stream:
        write_dropped(dropped, output, stream)
