"""tieout demo"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tieout.cli._support import options as common
from tieout.cli._support.interrupts import interruptible
from tieout.cli._support.output import result_stream, write_stderr
from tieout.errors import UsageError
from tieout.exit_codes import ExitCode
from tieout.model.defaults import SPARK_MASTER
from tieout.report.render import OutputFormat

if TYPE_CHECKING:
    from tieout.demo.story import DemoResult

DEFAULT_REPORT = Path("tieout-demo.html")


def demo(
    keep: Annotated[
        Path | None,
        typer.Option("--keep", metavar="DIR", help="Create the databases in this new directory and keep them."),
    ] = None,
    report: Annotated[
        Path, typer.Option("--report", metavar="FILE", help="Where to write the HTML report.")
    ] = DEFAULT_REPORT,
    master: common.Master = None,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> ExitCode:
    """Show the product on two embedded databases: move rows, inject faults, find them, repair them."""
    if output not in (OutputFormat.TEXT, OutputFormat.JSON):
        raise UsageError(f"the demo can't be written as {output}", "use --output text or json")
    _check_writable(report)

    from tieout.api import SparkSettings
    from tieout.demo.story import run_demo

    def write_line(line: str) -> None:
        if output is OutputFormat.TEXT:
            with result_stream() as stream:
                stream.write(f"{line}\n")
        elif not quiet:
            write_stderr(line)

    with interruptible(), _directory(keep) as directory:
        result = run_demo(directory, report, write_line, SparkSettings(master or SPARK_MASTER, {}, verbose))
    if output is OutputFormat.TEXT:
        write_line(_ending(result, keep))
    else:
        _write_json(result, keep)
    return result.exit_code


@contextmanager
def _directory(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="tieout-demo-") as temporary:
            yield Path(temporary)
        return
    try:
        keep.mkdir(parents=True, exist_ok=True)
        if any(keep.iterdir()):
            raise UsageError(f"{keep} is not empty", "give --keep a new directory")
    except OSError as error:
        raise UsageError(f"--keep {keep}: {error.strerror}", "give another directory") from None
    yield keep.resolve()


def _check_writable(report: Path) -> None:
    """Fails before the work starts, not after it."""
    try:
        with report.open("a"):
            pass
    except OSError as error:
        raise UsageError(f"can't write the report to {report}: {error.strerror}", "give --report FILE") from None


def _ending(result: DemoResult, keep: Path | None) -> str:
    from tieout.wording import duration

    verdict = (
        f"All {len(result.faults)} faults were found and repaired"
        if result.succeeded
        else "The demo failed: the lines above say what was not found or not equal"
    )
    lines = [f"\n{verdict}; {duration(result.seconds)} in all.", f"HTML report: {result.report.resolve()}"]
    if keep is not None:
        urls = f"--source sqlite:///{keep.resolve() / 'source.db'} --target sqlite:///{keep.resolve() / 'target.db'}"
        lines.append(f"Try it: tieout verify {urls}")
    else:
        lines.append("Try your own: tieout verify --source URL --target URL (tieout demo --keep DIR leaves these two)")
    return "\n".join(lines)


def _write_json(result: DemoResult, keep: Path | None) -> None:
    from tieout.report.json import json_text

    document = {
        "kind": "demo",
        "succeeded": result.succeeded,
        "rows": result.moved.rows,
        "changes": result.moved.changes,
        "faults": [{"fault": each.fault.name, "found": each.found} for each in result.faults],
        "unexpected_differences": result.unexpected,
        "equal_before": result.equal_before,
        "repaired": result.repaired,
        "equal_after": result.equal_after,
        "report": str(result.report.resolve()),
        "directory": str(keep.resolve()) if keep else None,
        "seconds": round(result.seconds, 3),
    }
    with result_stream() as stream:
        stream.write(json_text(document, indent=2) + "\n")
