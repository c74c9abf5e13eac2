"""An error as the line that a user gets to see."""

from __future__ import annotations

from tieout.errors import ConfigError, TieoutError
from tieout.report.printable import one_line, printable


def error_line(error: TieoutError) -> str:
    """`error[access]: message — hint`, on one line; a ConfigError may have a line for each problem."""
    if isinstance(error, ConfigError):
        message = "\n".join(printable(line.expandtabs(4)) for line in error.message.strip().splitlines())
    else:
        message = one_line(error.message)
    return f"error[{error.code}]: {message}" + (f" — {one_line(error.hint)}" if error.hint else "")
