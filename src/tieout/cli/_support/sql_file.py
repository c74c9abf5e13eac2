"""A repair plan written to a file of statements."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from tieout.cli._support.output import write_stderr
from tieout.config.secrets import private_file
from tieout.errors import UsageError
from tieout.wording import plural


def write_sql_file(file: Path, plan: str, urls: tuple[str, str], meta: str) -> None:
    from tieout import api

    write_statements(file, plan, lambda stream: api.write_repair_sql(plan, *urls, stream, meta=meta))


def write_statements(file: Path, plan: str, write: Callable[[TextIO], int]) -> None:
    """Writes the whole file or nothing: half of a transaction is worse than none. `write` returns how many statements.

    The file is private: it holds rows, and whoever runs it trusts it.
    """
    try:
        with private_file(file) as stream:
            written = write(stream)
    except OSError as error:
        raise UsageError(f"can't write {file}: {error.strerror}", "give another file") from None
    write_stderr(f"{plural(written, 'statement')} written to {file} (plan {plan})")
