"""tieout task: lists and drops tasks, and restarts their tables."""

from __future__ import annotations

from typing import Annotated

import typer

from tieout.cli._support import options as common
from tieout.cli._support.context import load_context
from tieout.cli._support.output import result_stream
from tieout.report.render import OutputFormat

app = typer.Typer(help="List and drop tasks, and restart their tables.")


@app.command("list")
def list_(
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """List the tasks of the configuration and the states of their movers."""
    from tieout import api
    from tieout.report.listing import write_listing

    context = load_context(config, meta, required=True)
    known = {status.task: status for status in api.move_statuses(context.meta)}
    rows = [
        {
            "task": name,
            "delivery": task.delivery or (known[name].delivery if name in known else None),
            "state": known[name].state if name in known else None,
        }
        for name, task in context.settings.tasks.items()
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
    """Remove what a task left on both sides: slot, publication, progress, staging tables. The moved tables stay."""
    from tieout import api
    from tieout.report.move_status import write_dropped

    context = load_context(config, meta, required=True)
    dropped = api.drop_move(context.settings.move_request(task), context.meta)
    with result_stream() as stream:
        write_dropped(dropped, output, stream)


Table = Annotated[str, typer.Argument(metavar="TABLE", help="A table of the source, by its name or schema.name.")]


@app.command("restart")
def restart(
    task: common.MovingTask,
    table: Table,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """Copy one table of a task again while the others go on, for example one that was stopped."""
    from tieout import api
    from tieout.report.move_status import write_restarted

    context = load_context(config, meta, required=True)
    restarted = api.restart_table(context.settings.move_request(task), table, context.meta)
    with result_stream() as stream:
        write_restarted(restarted, output, stream)
