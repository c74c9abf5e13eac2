"""What was typed, and what the configuration says, as one request."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tieout.cli.job_urls import Sides
from tieout.cli.option_words import OptionWords, verify_options
from tieout.cli.table_words import TableWords, table_requests
from tieout.errors import UsageError
from tieout.model.requests import VerifyOptions, VerifyRequest

if TYPE_CHECKING:
    from tieout.config.settings import Settings


def asked_request(
    settings: Settings, task: str | None, sides: Sides, tables: TableWords, options: OptionWords
) -> VerifyRequest:
    """A task's request, or that of two endpoints; what was typed goes before what the task says."""
    if task is not None:
        if any(sides):
            raise UsageError("a task has its own source and target", "give a task, or --source and --target")
        request = settings.verify_request(task)
    else:
        source, target = sides
        if source is None or target is None:
            missing = [name for name, given in (("--source", source), ("--target", target)) if given is None]
            raise UsageError(f"{' and '.join(missing)} missing", "give a task, or --source URL and --target URL")
        defaults = VerifyOptions(redact_values=settings.redact_values)
        request = VerifyRequest(settings.endpoint(source), settings.endpoint(target), options=defaults)
    return replace(
        request,
        tables=table_requests(tables, request.tables),
        options=verify_options(options, request.options),
    )
