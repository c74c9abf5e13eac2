"""tieout version"""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed

from tieout.cli._support import options as common
from tieout.cli._support.output import result_stream
from tieout.report.render import OutputFormat


def version(
    output: common.Output = OutputFormat.TEXT,
    config: common.Config = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """Show the versions of Tieout and of what it runs on."""
    from tieout.report.listing import write_record
    from tieout.spark.java import java_version

    versions = {
        "tieout": _version("tieout"),
        "python": platform.python_version(),
        "pyspark": _version("pyspark"),
        "java": java_version() or "not found",
    }
    with result_stream() as stream:
        write_record(versions, output, stream)


def _version(package: str) -> str:
    try:
        return installed(package)
    except PackageNotFoundError:
        return "not installed"
