"""tieout config check"""

from __future__ import annotations

import typer

from tieout.cli._support import options as common
from tieout.cli._support.context import load_context
from tieout.cli._support.output import result_stream
from tieout.report.render import OutputFormat

app = typer.Typer(help="Check tieout.yaml.", no_args_is_help=False)


@app.callback()
def _config() -> None:
    pass


@app.command("check")
def check(
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """Report every problem of the configuration at once."""
    settings = load_context(config, required=True).settings
    from tieout.report.listing import write_record
    from tieout.wording import plural

    file = str(config or "tieout.yaml")
    with result_stream() as stream:
        if output is OutputFormat.TEXT:
            counts = f"{plural(len(settings.endpoints), 'endpoint')}, {plural(len(settings.tasks), 'task')}"
            stream.write(f"{file} is ok: {counts}\n")
        else:
            names = {"endpoints": ", ".join(settings.endpoints), "tasks": ", ".join(settings.tasks)}
            write_record({"file": file, "ok": True, **names}, output, stream)
