"""A repair plan written to a file of statements."""

from __future__ import annotations

from pathlib import Path

from tieout.cli.output import say
from tieout.errors import UsageError
from tieout.report.words import plural


def write_sql_file(file: Path, plan: str, urls: tuple[str, str], meta: str) -> None:
    """Writes the whole file or none: half of a transaction is worse than nothing."""
    from tieout import api

    draft = file.with_name(f".{file.name}.draft")
    try:
        with draft.open("w", encoding="utf-8", newline="\n") as stream:
            written = api.write_repair_sql(plan, *urls, stream, meta=meta)
        draft.replace(file)
    except OSError as error:
        raise UsageError(f"can't write {file}: {error.strerror}", "give another file") from None
    finally:
        draft.unlink(missing_ok=True)
    say(f"{plural(written, 'statement')} written to {file} (plan {plan})")
