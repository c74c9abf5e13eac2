"""tieout preflight"""

from __future__ import annotations

from tieout.cli._support import options as common
from tieout.cli._support import verify_options as o
from tieout.cli._support.context import load_context
from tieout.cli._support.output import result_stream
from tieout.cli._support.parse_options import TypedOptions, TypedTables, build_request
from tieout.exit_codes import ExitCode
from tieout.report.render import OutputFormat


def preflight(
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
    exact_scale: o.ExactScale = False,
    master: common.Master = None,
    meta: common.Meta = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> ExitCode:
    """Report every problem at once, each with its fix, and what the guarantees will be. Reads no rows."""
    context = load_context(config, meta, master, required=task is not None)
    tables = TypedTables(
        table, exclude, where, source_where, target_where, key, columns, exclude_columns, tolerance, expr
    )
    options = TypedOptions(strategy, hash_bits, exact_scale=exact_scale)
    request = build_request(context.settings, task, (source, target), tables, options)

    from tieout import api
    from tieout.report.preflight import write_preflight

    # Options about tables are about verifying them.
    is_moved = task is not None and context.settings.task(task).is_moved and not tables.names
    move = context.settings.move_request(task) if task is not None and is_moved else None
    spark = context.spark(verbose, redacts=request.options.redact_values)
    found = api.preflight(request, context.meta, spark=spark, move=move)
    with result_stream() as stream:
        write_preflight(found, output, stream)
    return found.exit_code
