"""An error as the line that a user gets to see."""

from __future__ import annotations

from tieout.errors import ConfigError, StatementError, TieoutError
from tieout.report.printable import one_line, printable


def error_line(error: TieoutError) -> str:
    """`error[access]: message — hint`, on one line.

    A ConfigError may have a line for each problem; a StatementError has the statement, with a mark, under its line.
    """
    if isinstance(error, StatementError):
        first, *pointing = (printable(line.expandtabs(1)) for line in error.message.splitlines())
        return "\n".join([f"error[{error.code}]: {first}" + _hinted(error), *pointing])
    if isinstance(error, ConfigError):
        message = "\n".join(printable(line.expandtabs(4)) for line in error.message.strip().splitlines())
    else:
        message = one_line(error.message)
    return f"error[{error.code}]: {message}" + _hinted(error)


def _hinted(error: TieoutError) -> str:
    return f" — {one_line(error.hint)}" if error.hint else ""
