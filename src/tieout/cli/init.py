"""tieout init"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tieout.cli._support import options as common
from tieout.cli._support.output import result_stream
from tieout.report.render import OutputFormat


def init(
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """Write a commented tieout.yaml to start from."""
    from tieout.config.template import write_template

    file = config or Path("tieout.yaml")
    write_template(file, force)
    with result_stream() as stream:
        if output is OutputFormat.TEXT:
            stream.write(f"wrote {file}: fill in the endpoints, then run 'tieout config check'\n")
        else:
            from tieout.report.listing import write_record

            write_record({"file": str(file)}, output, stream)
