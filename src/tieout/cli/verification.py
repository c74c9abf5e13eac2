"""Runs a verification with progress on stderr, writes its report, and returns its exit code."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from tieout.cli.interrupts import told_how_to_go_on
from tieout.cli.output import result_stream, say
from tieout.cli.place import Place
from tieout.model.requests import VerifyRequest
from tieout.model.results import VerificationResult
from tieout.report.render import OutputFormat
from tieout.report.words import plural


@dataclass(frozen=True, slots=True)
class Telling:
    """How the answer is told."""

    output: OutputFormat = OutputFormat.TEXT
    quiet: bool = False
    verbose: bool = False
    repair_sql: Path | None = None


def run_and_tell(request: VerifyRequest, here: Place, telling: Telling, resume: str | None = None) -> int:
    from tieout import api
    from tieout.report.progress import progress_listener
    from tieout.report.render import write

    with told_how_to_go_on("tieout verify --resume JOB"), progress_listener(sys.stderr, telling.quiet) as listener:
        spark = here.spark(telling.verbose)
        result = api.run_verification(request, spark=spark, meta=here.meta, listener=listener, resume=resume)
    if telling.repair_sql is not None:
        _write_repair_sql(result, request, here, telling.repair_sql)
    with result_stream() as stream:
        write(result, telling.output, stream)
    return result.exit_code


def _write_repair_sql(result: VerificationResult, request: VerifyRequest, here: Place, file: Path) -> None:
    from tieout import api
    from tieout.cli.sql_file import write_sql_file

    urls = request.source, request.target
    plan = api.plan_repair(result.job, *urls, meta=here.meta)
    write_sql_file(file, plan.plan, urls, here.meta)
    for table in plan.unrepaired:
        say(f"{table.table}: {plural(table.differences, 'difference')} can't be repaired: {table.reason}")
    if plan.not_kept:
        say(f"{plural(plan.not_kept, 'difference')} were not listed, and have no statement: give --limit none")
