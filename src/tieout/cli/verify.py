"""tieout verify"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tieout.cli import options as common
from tieout.cli import verify_options as o
from tieout.cli.option_words import OptionWords
from tieout.cli.output import result_stream
from tieout.cli.place import place
from tieout.cli.resuming import resumed_request
from tieout.cli.table_words import TableWords
from tieout.cli.telling import Telling
from tieout.cli.verification import run_and_tell
from tieout.cli.verify_request import asked_request
from tieout.errors import UsageError
from tieout.exit_codes import ExitCode
from tieout.model.requests import VerifyRequest
from tieout.report.render import OutputFormat

if TYPE_CHECKING:
    from tieout.api import SparkSettings


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
    from tieout.report.forecast import write_forecast

    forecast = api.explain(request, spark=spark)
    with result_stream() as stream:
        write_forecast(forecast, output, stream)
    return ExitCode.OK
