"""tieout verify"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tieout.cli._support import options as common
from tieout.cli._support import verify_options as o
from tieout.cli._support.context import Context, Sides, job_urls, load_context, refuse_edited_task
from tieout.cli._support.interrupts import interruptible
from tieout.cli._support.output import OutputOptions, progress_to_stderr, result_stream, write_stderr
from tieout.cli._support.parse_options import TypedOptions, TypedTables, build_request, verify_options
from tieout.errors import UsageError
from tieout.exit_codes import ExitCode
from tieout.model.requests import VerifyRequest
from tieout.model.results import VerificationResult
from tieout.report.render import OutputFormat
from tieout.wording import plural

if TYPE_CHECKING:
    from tieout.api import SparkSettings
    from tieout.cli._support.context import Context


def verify(
    task: o.Task = None,
    source: o.Source = None,
    target: o.Target = None,
    table: o.Tables = None,
    exclude: o.Exclude = None,
    where: o.Where = None,
    source_where: o.SourceWhere = None,
    target_where: o.TargetWhere = None,
    key: o.Key = None,
    columns: o.Columns = None,
    exclude_columns: o.ExcludeColumns = None,
    tolerance: o.Tolerances = None,
    expr: o.Expressions = None,
    strategy: o.StrategyName = None,
    hash_bits: o.HashBits = None,
    counts_only: o.CountsOnly = False,
    exact_scale: o.ExactScale = False,
    limit: o.Limit = None,
    explain: o.Explain = False,
    repair_sql: o.RepairSql = None,
    resume: o.Resume = None,
    chunk_seconds: o.ChunkSeconds = None,
    chunk_rows: o.ChunkRows = None,
    max_rows_per_second: o.MaxRowsPerSecond = None,
    recheck_after: o.RecheckAfter = None,
    recheck_times: o.RecheckTimes = None,
    redact_values: o.RedactValues = None,
    master: common.Master = None,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> ExitCode:
    """Compare the tables of two databases: all equal, or exactly which rows and columns differ."""
    context = load_context(config, meta, master, required=task is not None)
    tables = TypedTables(
        table, exclude, where, source_where, target_where, key, columns, exclude_columns, tolerance, expr
    )
    options = TypedOptions(
        strategy,
        hash_bits,
        counts_only,
        exact_scale,
        limit,
        chunk_seconds,
        chunk_rows,
        max_rows_per_second,
        recheck_after,
        recheck_times,
        redact_values,
    )
    if resume is not None:
        if task is not None:
            raise UsageError("--resume and TASK are mutually exclusive", "leave TASK out: the job has its own")
        resume, request = resumed_request(context, resume, (source, target), tables, options)
    else:
        request = build_request(context.settings, task, (source, target), tables, options)
    if repair_sql is not None and request.options.redact_values:
        raise UsageError(
            "--repair-sql writes whole rows, but values are redacted",
            "give --no-redact-values, or leave --repair-sql out",
        )
    if explain:
        return _explain(request, context.spark(verbose, redacts=request.options.redact_values), output)
    return run_and_report(request, context, OutputOptions(output, quiet, verbose), resume, repair_sql)


def _explain(request: VerifyRequest, spark: SparkSettings, output: OutputFormat) -> ExitCode:
    from tieout import api
    from tieout.report.preflight import write_forecast

    forecast = api.explain(request, spark=spark)
    with result_stream() as stream:
        write_forecast(forecast, output, stream)
    return ExitCode.OK


def run_and_report(
    request: VerifyRequest,
    context: Context,
    output_options: OutputOptions,
    resume: str | None = None,
    repair_sql: Path | None = None,
) -> ExitCode:
    """Runs it with progress on stderr, writes its report, and returns its exit code.

    `repair_sql` is a file for statements that make the target equal.
    """
    from tieout import api
    from tieout.report.render import write

    with interruptible("tieout verify --resume JOB"), progress_to_stderr(output_options) as listener:
        spark = context.spark(output_options.verbose, redacts=request.options.redact_values)
        result = api.run_verification(request, spark=spark, meta=context.meta, listener=listener, resume=resume)
    if repair_sql is not None:
        _write_repair_sql(result, request, context, repair_sql)
    with result_stream() as stream:
        write(result, output_options.output, stream)
    return result.exit_code


def _write_repair_sql(result: VerificationResult, request: VerifyRequest, context: Context, file: Path) -> None:
    from tieout import api
    from tieout.cli.repair import write_sql_file

    urls = request.source, request.target
    plan = api.plan_repair(result.job, *urls, meta=context.meta)
    write_sql_file(file, plan.plan, urls, context.meta)
    for table in plan.unrepaired:
        write_stderr(f"{table.table}: {plural(table.differences, 'difference')} can't be repaired: {table.reason}")
    if plan.not_kept:
        write_stderr(f"{plural(plan.not_kept, 'difference')} were not listed and have no statement: give --limit none")


def resumed_request(
    context: Context,
    reference: str,
    sides: Sides,
    tables: TypedTables | None = None,
    options: TypedOptions | None = None,
) -> tuple[str, VerifyRequest]:
    """The job's id and its own request. The user may only change URLs, and options that no digest depends on."""
    from tieout import api
    from tieout.model.documents import request_from_document

    options = options or TypedOptions()
    typed = [*(tables.names if tables else ()), *options.names_that_digests_depend_on]
    if typed:
        raise UsageError(
            f"{typed[0]} can't be combined with --resume: the job keeps what it started with", "leave it out"
        )
    job = api.resumable_job(reference, context.meta)
    refuse_edited_task(context, job)
    request = request_from_document(job.request, *job_urls(context, job, sides))
    return job.id, replace(request, options=verify_options(options, request.options))
