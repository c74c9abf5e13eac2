"""tieout repair: makes a target equal to its source or a database consistent, and undoes it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from tieout.cli._support import options as common
from tieout.cli._support import verify_options as o
from tieout.cli._support.context import job_url, job_urls, load_context, refuse_edited_task
from tieout.cli._support.interrupts import interruptible
from tieout.cli._support.output import result_stream, write_stderr
from tieout.config.secrets import private_file
from tieout.errors import UsageError
from tieout.exit_codes import ExitCode
from tieout.report.render import OutputFormat
from tieout.wording import plural

if TYPE_CHECKING:
    from tieout.cli._support.context import Context
    from tieout.meta import Job, RepairPlan
    from tieout.model.progress_events import Listener
    from tieout.model.repair import CheckRepairSummary, RepairResult, RepairSummary

app = typer.Typer(help="Repair what a verification or a check found; only 'apply' changes anything.")

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
        str | None, typer.Option("--table", "-t", metavar="T", help="Only this table, by any of its names.")
    ] = None,
    choose: Annotated[
        list[str] | None,
        typer.Option(
            "--choose",
            metavar="FAILURE=CHOICE",
            help="How to repair failures of a check, by name or id: missing_index_entry=create; or triggers=run.",
        ),
    ] = None,
    values: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="COLUMN=VALUE",
            help="The value that replaces a bad one, or that a new parent gets: orders.qty=1.",
        ),
    ] = None,
    sql: Annotated[
        Path | None, typer.Option("--sql", metavar="FILE", help="Also write the plan as SQL statements.")
    ] = None,
    with_values: Annotated[
        bool,
        typer.Option(
            "--with-values", help="Keep whole rows in the plan of a verification that redacted values; undo needs them."
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
    """Plan the changes that would end a verification's differences or a check's failures; change nothing.

    Each row is rechecked. Exit code 3: the plan leaves something, such as a failure without a decision.
    """
    from tieout import api
    from tieout.report.progress import progress_listener
    from tieout.report.repairs import write_repair

    context = load_context(config, meta)
    found = api.repairable_job(job, context.meta)
    refuse_edited_task(context, found)
    work = repair_work(context, found, Urls(url, source, target))
    with interruptible(), progress_listener(sys.stderr, quiet) as listener:
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
    """Apply a plan: recheck each row first, and keep the old rows for undo.

    A verification's rows are compared again afterwards; for a check's failures, run the check again.
    """
    from tieout.report.progress import progress_listener
    from tieout.report.repairs import write_repair

    context = load_context(config, meta)
    chosen, job, work = _planned(context, plan, Urls(url, source, target))
    refuse_edited_task(context, job)
    if dry_run:
        with result_stream() as stream:
            work.write_sql(chosen.id, stream)
        return ExitCode.OK
    with interruptible(f"tieout repair apply {chosen.id}"), progress_listener(sys.stderr, quiet) as listener:
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
    """Restore the old rows, where nobody has changed them since."""
    from tieout.report.progress import progress_listener
    from tieout.report.repairs import write_repair

    context = load_context(config, meta)
    chosen, _, work = _planned(context, plan, Urls(url, source, target))
    with interruptible(f"tieout repair undo {chosen.id}"), progress_listener(sys.stderr, quiet) as listener:
        result = work.undo(chosen.id, listener)
    with result_stream() as stream:
        write_repair(result, output, stream)
    return result.exit_code


def _planned(
    context: Context, reference: str, urls: Urls
) -> tuple[RepairPlan, Job, _VerificationRepair | _CheckRepair]:
    from tieout import api

    chosen = api.repair_plan(reference, context.meta)
    return chosen.plan, chosen.job, repair_work(context, chosen.job, urls)


def _pairs(option: str, typed: list[str] | None) -> dict[str, str]:
    pairs = {}
    for each in typed or ():
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {each} has no =", f"write {option} NAME=VALUE")
        pairs[name] = value
    return pairs


Typed = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Urls:
    """The URLs as the user typed them."""

    url: str | None
    source: str | None
    target: str | None


def repair_work(context: Context, job: Job, urls: Urls) -> _VerificationRepair | _CheckRepair:
    """Returns what the three commands do: a verification's job has two databases, a check's job has one."""
    from tieout.meta import JobKind

    if job.kind is JobKind.CHECK:
        if urls.source is not None or urls.target is not None:
            raise UsageError(f"job {job.id} is a check: it has one database", "give it as --url")
        return _CheckRepair(job.id, job_url(context, job, "--url", urls.url), context.meta)
    if urls.url is not None:
        raise UsageError(f"job {job.id} is a verification: it has two databases", "give them as --source and --target")
    return _VerificationRepair(job.id, job_urls(context, job, (urls.source, urls.target)), context.meta)


@dataclass(frozen=True)
class _VerificationRepair:
    job: str
    urls: tuple[str, str]
    meta: str

    def plan(
        self, choose: Typed, values: Typed, table: str | None, listener: Listener, *, with_values: bool
    ) -> RepairSummary:
        from tieout import api

        if choose or values:
            raise UsageError(f"job {self.job} is a verification: --choose and --set are for checks", "leave them out")
        return api.plan_repair(
            self.job, *self.urls, table=table, with_values=with_values, meta=self.meta, listener=listener
        )

    def apply(self, plan: str, listener: Listener) -> RepairResult:
        from tieout import api

        return api.apply_repair(plan, *self.urls, meta=self.meta, listener=listener)

    def undo(self, plan: str, listener: Listener) -> RepairResult:
        from tieout import api

        return api.undo_repair(plan, *self.urls, meta=self.meta, listener=listener)

    def write_sql(self, plan: str, stream: TextIO) -> int:
        from tieout import api

        return api.write_repair_sql(plan, *self.urls, stream, meta=self.meta)

    def write_sql_file(self, file: Path, plan: str) -> None:
        write_sql_file(file, plan, self.urls, self.meta)


@dataclass(frozen=True)
class _CheckRepair:
    job: str
    url: str
    meta: str

    def plan(
        self, choose: Typed, values: Typed, table: str | None, listener: Listener, *, with_values: bool
    ) -> CheckRepairSummary:
        from tieout import api

        if with_values:
            raise UsageError(f"job {self.job} is a check: --with-values is for verifications", "leave it out")
        return api.plan_check_repair(
            self.job, self.url, choose=choose, values=values, table=table, meta=self.meta, listener=listener
        )

    def apply(self, plan: str, listener: Listener) -> RepairResult:
        from tieout import api

        return api.apply_check_repair(plan, self.url, meta=self.meta, listener=listener)

    def undo(self, plan: str, listener: Listener) -> RepairResult:
        from tieout import api

        return api.undo_check_repair(plan, self.url, meta=self.meta, listener=listener)

    def write_sql(self, plan: str, stream: TextIO) -> int:
        from tieout import api

        return api.write_check_repair_sql(plan, self.url, stream, meta=self.meta)

    def write_sql_file(self, file: Path, plan: str) -> None:
        write_statements(file, plan, lambda stream: self.write_sql(plan, stream))


def write_sql_file(file: Path, plan: str, urls: tuple[str, str], meta: str) -> None:
    from tieout import api

    write_statements(file, plan, lambda stream: api.write_repair_sql(plan, *urls, stream, meta=meta))


def write_statements(file: Path, plan: str, write: Callable[[TextIO], int]) -> None:
    """Writes the whole file or nothing: half of a transaction is worse than none. `write` returns how many statements.

    The file is private: it holds rows, and whoever runs it trusts it.
    """
    try:
        with private_file(file) as stream:
            written = write(stream)
    except OSError as error:
        raise UsageError(f"can't write {file}: {error.strerror}", "give another file") from None
    write_stderr(f"{plural(written, 'statement')} written to {file} (plan {plan})")
