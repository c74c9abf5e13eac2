"""tieout repair: makes a target equal to its source, and back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tieout.cli import options as common
from tieout.cli import verify_options as o
from tieout.cli.interrupts import told_how_to_go_on
from tieout.cli.job_urls import job_urls
from tieout.cli.output import result_stream
from tieout.cli.place import place
from tieout.cli.sql_file import write_sql_file
from tieout.report.render import OutputFormat

app = typer.Typer(help="Makes a target equal to its source; nothing is changed without 'apply'.")

JobReference = Annotated[
    str, typer.Argument(metavar="JOB", help="A verification: its id, or 'last'.", show_default=False)
]
PlanReference = Annotated[str, typer.Argument(metavar="PLAN", help="A plan: its id, or 'last'.", show_default=False)]

_INCOMPLETE = 3


@app.command("plan")
def plan(
    job: JobReference,
    table: Annotated[
        str | None, typer.Option("--table", "-t", metavar="T", help="Only this table, by the source's name.")
    ] = None,
    sql: Annotated[
        Path | None, typer.Option("--sql", metavar="FILE", help="Write the plan as statements, too.")
    ] = None,
    source: o.Source = None,
    target: o.Target = None,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> int:
    """Plans the changes that would end a verification's differences; looks at each row again, changes nothing.

    Exit code 3: the plan leaves some differences.
    """
    from tieout import api
    from tieout.report.progress import progress_listener
    from tieout.report.repairs import write_repair

    here = place(config, meta)
    urls = job_urls(here, api.verification(job, here.meta), (source, target))
    with told_how_to_go_on(), progress_listener(sys.stderr, quiet) as listener:
        made = api.plan_repair(job, *urls, table=table, meta=here.meta, listener=listener)
    if sql is not None:
        write_sql_file(sql, made.plan, urls, here.meta)
    with result_stream() as stream:
        write_repair(made, output, stream)
    return 0 if made.complete else _INCOMPLETE


@app.command("apply")
def apply(
    plan: PlanReference,
    source: o.Source = None,
    target: o.Target = None,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> int:
    """Changes the target as planned: looks at each row again first, keeps the old ones, and verifies afterwards."""
    from tieout import api
    from tieout.report.progress import progress_listener
    from tieout.report.repairs import write_repair

    here = place(config, meta)
    chosen = api.repair_plan(plan, here.meta)
    urls = job_urls(here, chosen.job, (source, target))
    with told_how_to_go_on(f"tieout repair apply {chosen.plan.id}"), progress_listener(sys.stderr, quiet) as listener:
        result = api.apply_repair(chosen.plan.id, *urls, meta=here.meta, listener=listener)
    with result_stream() as stream:
        write_repair(result, output, stream)
    return result.exit_code


@app.command("undo")
def undo(
    plan: PlanReference,
    source: o.Source = None,
    target: o.Target = None,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> int:
    """Puts the old rows back, where nobody has changed them since."""
    from tieout import api
    from tieout.report.progress import progress_listener
    from tieout.report.repairs import write_repair

    here = place(config, meta)
    chosen = api.repair_plan(plan, here.meta)
    urls = job_urls(here, chosen.job, (source, target))
    with told_how_to_go_on(f"tieout repair undo {chosen.plan.id}"), progress_listener(sys.stderr, quiet) as listener:
        result = api.undo_repair(chosen.plan.id, *urls, meta=here.meta, listener=listener)
    with result_stream() as stream:
        write_repair(result, output, stream)
    return result.exit_code
