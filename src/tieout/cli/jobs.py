"""tieout jobs: long-running work, listed and controlled from any terminal."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tieout.cli._support import options as common
from tieout.cli._support import verify_options as o
from tieout.cli._support.context import load_context
from tieout.cli._support.output import OutputOptions, result_stream
from tieout.errors import UsageError
from tieout.exit_codes import ExitCode
from tieout.model.defaults import LISTED_JOBS
from tieout.report.render import OutputFormat

if TYPE_CHECKING:
    from tieout.meta import Job

app = typer.Typer(help="List and control long-running work from any terminal.")

Reference = Annotated[
    str, typer.Argument(metavar="JOB", help="A job's id, the beginning of an id, or 'last'.", show_default=False)
]
State = Literal["running", "paused", "done", "failed", "cancelled", "interrupted", "stopped"]


@app.command("list")
def list_(
    limit: Annotated[int, typer.Option("--limit", min=1, help="List at most this many jobs.")] = LISTED_JOBS,
    state: Annotated[State | None, typer.Option("--state", help="List only jobs in this state.")] = None,
    task: Annotated[str | None, typer.Option("--task", metavar="TASK", help="List only jobs of this task.")] = None,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """List jobs, newest first."""
    from tieout import api
    from tieout.report.listing import write_listing

    found = api.list_jobs(load_context(config, meta).meta, limit=limit, state=state, task=task)
    with result_stream() as stream:
        write_listing(LISTED, [job_values(job) for job in found], output, stream)


@app.command("show")
def show(
    job: Reference,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """Show a job: its tables and progress, and (as JSON) its request and its result."""
    from tieout import api
    from tieout.report.listing import write_listing, write_record

    details = api.show_job(job, load_context(config, meta).meta)
    values, tables = job_values(details.job), [asdict(table) for table in details.tables]
    with result_stream() as stream:
        if output is OutputFormat.TEXT:
            write_record(values, output, stream)
            if tables:
                stream.write("\n")
                write_listing(TABLES, tables, output, stream)
        else:
            whole = {**values, "request": details.job.request, "tables": tables, "result": details.result}
            write_record(whole, output, stream)


@app.command("pause")
def pause(
    job: Reference,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """Ask a running job to stop soon and keep its progress; continue with `jobs resume`."""
    from tieout import api

    changed = api.pause_job(job, load_context(config, meta).meta)
    _write_job(changed, f"job {changed.id} will pause; continue with tieout jobs resume {changed.id}", output)


@app.command("resume")
def resume(
    job: Reference,
    source: o.Source = None,
    target: o.Target = None,
    master: common.Master = None,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> ExitCode:
    """Resume a job here, as `tieout verify --resume` and `tieout check --resume` do."""
    from tieout import api
    from tieout.cli.check import resume_check
    from tieout.cli.verify import resumed_request, run_and_report

    context, output_options = load_context(config, meta, master), OutputOptions(output, quiet, verbose)
    found = api.show_job(job, context.meta).job
    if found.kind == "check":
        if target is not None:
            raise UsageError(f"job {found.id} is a check: it has one database", "give it as --source")
        return resume_check(context, found.id, source, output_options)
    job_id, request = resumed_request(context, job, (source, target))
    return run_and_report(request, context, output_options, resume=job_id)


@app.command("cancel")
def cancel(
    job: Reference,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """End a job for good; what it has found so far stays."""
    from tieout import api

    changed = api.cancel_job(job, load_context(config, meta).meta)
    _write_job(changed, f"job {changed.id} {'is' if changed.state == 'cancelled' else 'will be'} cancelled", output)


def _write_job(job: Job, line: str, output: OutputFormat) -> None:
    from tieout.report.listing import write_record

    with result_stream() as stream:
        if output is OutputFormat.TEXT:
            stream.write(f"{line}\n")
        else:
            write_record(job_values(job), output, stream)


LISTED = ("job", "kind", "state", "verdict", "task", "source", "target", "started_at", "finished_at")
TABLES = ("source_table", "target_table", "state", "verdict", "rows_done", "strategy")


def job_values(job: Job) -> dict[str, object]:
    """Everything that is known about a job, in the order in which people look for it."""
    return {
        "job": job.id,
        "kind": job.kind.value,
        "state": job.state.value,
        "verdict": job.verdict,
        "wanted": job.wanted.value if job.wanted else None,
        "error": job.error,
        "task": job.task,
        "source": job.source,
        "target": job.target,
        "started_at": job.started_at,
        "updated_at": job.updated_at,
        "finished_at": job.finished_at,
        "process": f"{job.pid} on {job.host}" if job.pid is not None else None,
    }
