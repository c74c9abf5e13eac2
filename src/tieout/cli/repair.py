"""tieout repair: makes a target equal to its source, or a database agree with itself, and back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tieout.cli import options as common
from tieout.cli import verify_options as o
from tieout.cli.interrupts import told_how_to_go_on
from tieout.cli.output import result_stream
from tieout.cli.place import place
from tieout.cli.repair_work import RepairWork, Urls, repair_work
from tieout.errors import UsageError
from tieout.exit_codes import ExitCode
from tieout.report.render import OutputFormat

if TYPE_CHECKING:
    from tieout.cli.place import Place
    from tieout.meta import RepairPlan

app = typer.Typer(help="Repairs what a verification or a check found; nothing is changed without 'apply'.")

JobReference = Annotated[
    str, typer.Argument(metavar="JOB", help="A verification or a check: its id, or 'last'.", show_default=False)
]
PlanReference = Annotated[str, typer.Argument(metavar="PLAN", help="A plan: its id, or 'last'.", show_default=False)]
Url = Annotated[
    str | None, typer.Option("--url", metavar="URL", help="The database of a check: a URL or an endpoint's name.")
]


@app.command("plan")
def plan(
    job: JobReference,
    table: Annotated[
        str | None, typer.Option("--table", "-t", metavar="T", help="Only this table, by the source's name.")
    ] = None,
    choose: Annotated[
        list[str] | None,
        typer.Option(
            "--choose",
            metavar="FAILURE=CHOICE",
            help="How failures of a check are repaired, by name or id: missing_index_entry=create; or triggers=run.",
        ),
    ] = None,
    values: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="COLUMN=VALUE", help="What a value is replaced by, or a new parent has: orders.qty=1."
        ),
    ] = None,
    sql: Annotated[
        Path | None, typer.Option("--sql", metavar="FILE", help="Write the plan as statements, too.")
    ] = None,
    with_values: Annotated[
        bool,
        typer.Option(
            "--with-values", help="Keep whole rows in the plan of a verification that redacted values: undo needs them."
        ),
    ] = False,
    url: Url = None,
    source: o.Source = None,
    target: o.Target = None,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> ExitCode:
    """Plans the changes that would end a verification's differences or a check's failures; changes nothing.

    Each row is looked at again. Exit code 3: the plan leaves something, such as a failure that nobody has decided.
    """
    from tieout import api
    from tieout.report.progress import progress_listener
    from tieout.report.repairs import write_repair

    here = place(config, meta)
    work = repair_work(here, api.repairable_job(job, here.meta), Urls(url, source, target))
    with told_how_to_go_on(), progress_listener(sys.stderr, quiet) as listener:
        made = work.plan(_pairs("--choose", choose), _pairs("--set", values), table, listener, with_values=with_values)
    if sql is not None:
        work.write_sql_file(sql, made.plan)
    with result_stream() as stream:
        write_repair(made, output, stream)
    return made.exit_code


@app.command("apply")
def apply(
    plan: PlanReference,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print the statements, in order; change nothing.")
    ] = False,
    url: Url = None,
    source: o.Source = None,
    target: o.Target = None,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> ExitCode:
    """Carries a plan out: looks at each row again first, and keeps the old ones.

    After a verification the plan's rows are compared once more; after a check, check again.
    """
    from tieout.report.progress import progress_listener
    from tieout.report.repairs import write_repair

    here = place(config, meta)
    chosen, work = _planned(here, plan, Urls(url, source, target))
    if dry_run:
        with result_stream() as stream:
            work.write_sql(chosen.id, stream)
        return ExitCode.OK
    with told_how_to_go_on(f"tieout repair apply {chosen.id}"), progress_listener(sys.stderr, quiet) as listener:
        result = work.apply(chosen.id, listener)
    with result_stream() as stream:
        write_repair(result, output, stream)
    return result.exit_code


@app.command("undo")
def undo(
    plan: PlanReference,
    url: Url = None,
    source: o.Source = None,
    target: o.Target = None,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> ExitCode:
    """Puts the old rows back, where nobody has changed them since."""
    from tieout.report.progress import progress_listener
    from tieout.report.repairs import write_repair

    here = place(config, meta)
    chosen, work = _planned(here, plan, Urls(url, source, target))
    with told_how_to_go_on(f"tieout repair undo {chosen.id}"), progress_listener(sys.stderr, quiet) as listener:
        result = work.undo(chosen.id, listener)
    with result_stream() as stream:
        write_repair(result, output, stream)
    return result.exit_code


def _planned(here: Place, reference: str, urls: Urls) -> tuple[RepairPlan, RepairWork]:
    from tieout import api

    chosen = api.repair_plan(reference, here.meta)
    return chosen.plan, repair_work(here, chosen.job, urls)


def _pairs(option: str, typed: list[str] | None) -> dict[str, str]:
    pairs = {}
    for each in typed or ():
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {each}: there is no = in it", f"write {option} NAME=VALUE")
        pairs[name] = value
    return pairs
