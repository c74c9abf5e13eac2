"""Runs a verification with progress on stderr, writes its report, and returns its exit code."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from tieout.cli.interrupts import told_how_to_resume
from tieout.cli.output import result_stream
from tieout.cli.place import Place
from tieout.model.requests import VerifyRequest
from tieout.report.render import OutputFormat


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

    spark = api.SparkSettings(here.master, here.conf, telling.verbose)
    with told_how_to_resume(), progress_listener(sys.stderr, telling.quiet) as listener:
        result = api.run_verification(request, spark=spark, meta=here.meta, listener=listener, resume=resume)
    with result_stream() as stream:
        write(result, telling.output, stream)
    return result.exit_code
