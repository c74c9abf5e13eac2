"""Runs a verification with progress on stderr, writes its report, and returns its exit code."""

from __future__ import annotations

from pathlib import Path

from tieout.cli.interrupts import told_how_to_go_on
from tieout.cli.output import result_stream, say
from tieout.cli.place import Place
from tieout.cli.telling import Telling, progress_to_stderr
from tieout.exit_codes import ExitCode
from tieout.model.requests import VerifyRequest
from tieout.model.results import VerificationResult
from tieout.wording import plural


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
    from tieout.cli.sql_file import write_sql_file

    urls = request.source, request.target
    plan = api.plan_repair(result.job, *urls, meta=here.meta)
    write_sql_file(file, plan.plan, urls, here.meta)
    for table in plan.unrepaired:
        say(f"{table.table}: {plural(table.differences, 'difference')} can't be repaired: {table.reason}")
    if plan.not_kept:
        say(f"{plural(plan.not_kept, 'difference')} were not listed, and have no statement: give --limit none")
