"""tieout preflight"""

from __future__ import annotations

from tieout.cli._support import options as common
from tieout.cli._support import verify_options as o
from tieout.cli._support.context import place
from tieout.cli._support.output import result_stream
from tieout.cli._support.parse_options import OptionWords, TableWords, asked_request
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
    """Tells every problem at once, each with its fix, and what the guarantees will be. Reads no rows."""
    here = place(config, meta, master, required=task is not None)
    tables = TableWords(
        table, exclude, where, source_where, target_where, key, columns, exclude_columns, tolerance, expr
    )
    options = OptionWords(strategy, hash_bits, exact_scale=exact_scale)
    request = asked_request(here.settings, task, (source, target), tables, options)

    from tieout import api
    from tieout.report.preflight import write_preflight

    # What is typed about tables is about verifying them.
    is_moved = task is not None and here.settings.task(task).is_moved and not tables.given
    move = here.settings.move_request(task) if task is not None and is_moved else None
    spark = here.spark(verbose, redacts=request.options.redact_values)
    found = api.preflight(request, here.meta, spark=spark, move=move)
    with result_stream() as stream:
        write_preflight(found, output, stream)
    return found.exit_code
