"""tieout verify"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tieout.cli._support import options as common
from tieout.cli._support import verify_options as o
from tieout.cli._support.context import Place, place
from tieout.cli._support.interrupts import told_how_to_go_on
from tieout.cli._support.job_urls import Sides, job_urls
from tieout.cli._support.output import Telling, progress_to_stderr, result_stream, say
from tieout.cli._support.parse_options import OptionWords, TableWords, asked_request, verify_options
from tieout.errors import UsageError
from tieout.exit_codes import ExitCode
from tieout.model.requests import VerifyRequest
from tieout.model.results import VerificationResult
from tieout.report.render import OutputFormat
from tieout.wording import plural

if TYPE_CHECKING:
    from tieout.api import SparkSettings
    from tieout.cli._support.context import Place


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
    """Compares the tables of two databases: all equal, or exactly which rows and columns differ."""
    here = place(config, meta, master, required=task is not None)
    tables = TableWords(
        table, exclude, where, source_where, target_where, key, columns, exclude_columns, tolerance, expr
    )
    options = OptionWords(
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
            raise UsageError("a job knows its task", "give --resume JOB without a task")
        resume, request = resumed_request(here, resume, (source, target), tables, options)
    else:
        request = asked_request(here.settings, task, (source, target), tables, options)
    if repair_sql is not None and request.options.redact_values:
        raise UsageError(
            "--repair-sql writes whole rows, and values are redacted", "give --no-redact-values, or leave --repair-sql"
        )
    if explain:
        return _explain(request, here.spark(verbose, redacts=request.options.redact_values), output)
    return run_and_tell(request, here, Telling(output, quiet, verbose), resume, repair_sql)


def _explain(request: VerifyRequest, spark: SparkSettings, output: OutputFormat) -> ExitCode:
    from tieout import api
    from tieout.report.preflight import write_forecast

    forecast = api.explain(request, spark=spark)
    with result_stream() as stream:
        write_forecast(forecast, output, stream)
    return ExitCode.OK


def run_and_tell(
    request: VerifyRequest,
    here: Place,
    telling: Telling,
    resume: str | None = None,
    repair_sql: Path | None = None,
) -> ExitCode:
    """With `repair_sql`, statements that make the target equal are written there."""
    from tieout import api
    from tieout.report.render import write

    with told_how_to_go_on("tieout verify --resume JOB"), progress_to_stderr(telling) as listener:
        spark = here.spark(telling.verbose, redacts=request.options.redact_values)
        result = api.run_verification(request, spark=spark, meta=here.meta, listener=listener, resume=resume)
    if repair_sql is not None:
        _write_repair_sql(result, request, here, repair_sql)
    with result_stream() as stream:
        write(result, telling.output, stream)
    return result.exit_code


def _write_repair_sql(result: VerificationResult, request: VerifyRequest, here: Place, file: Path) -> None:
    from tieout import api
    from tieout.cli._support.sql_file import write_sql_file

    urls = request.source, request.target
    plan = api.plan_repair(result.job, *urls, meta=here.meta)
    write_sql_file(file, plan.plan, urls, here.meta)
    for table in plan.unrepaired:
        say(f"{table.table}: {plural(table.differences, 'difference')} can't be repaired: {table.reason}")
    if plan.not_kept:
        say(f"{plural(plan.not_kept, 'difference')} were not listed, and have no statement: give --limit none")


def resumed_request(
    here: Place,
    reference: str,
    sides: Sides,
    tables: TableWords | None = None,
    options: OptionWords | None = None,
) -> tuple[str, VerifyRequest]:
    """The job's id and its own request. Of what is typed, only URLs and what no digest depends on may be given."""
    from tieout import api
    from tieout.model.documents import request_from_document

    options = options or OptionWords()
    given = [*(tables.given if tables else ()), *options.given_for_the_plan]
    if given:
        raise UsageError(
            f"a resumed job compares what it was asked to: {given[0]} can't be given again", "leave it out"
        )
    job = api.resumable_job(reference, here.meta)
    request = request_from_document(job.request, *job_urls(here, job, sides))
    return job.id, replace(request, options=verify_options(options, request.options))
