"""The request of a job that is to go on: as it was asked, with URLs that can connect."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tieout.cli.option_words import OptionWords, verify_options
from tieout.cli.table_words import TableWords
from tieout.cli.verify_request import Sides
from tieout.config.secrets import MASK
from tieout.config.urls import EndpointUrl, parse_url
from tieout.errors import UsageError
from tieout.model.request_documents import request_from_document
from tieout.model.requests import VerifyRequest

if TYPE_CHECKING:
    from tieout.cli.place import Place
    from tieout.meta import Job

_SAME = ("scheme", "host", "port", "database", "path", "schema")


def resumed_request(
    here: Place,
    reference: str,
    task: str | None,
    sides: Sides,
    tables: TableWords | None = None,
    options: OptionWords | None = None,
) -> VerifyRequest:
    """The job's own request. Of what is typed, only URLs and what no digest depends on may be given again."""
    from tieout import api

    options = options or OptionWords()
    given = [*(tables.given if tables else ()), *options.given_for_the_plan]
    if given:
        raise UsageError(
            f"a resumed job compares what it was asked to: {given[0]} can't be given again", "leave it out"
        )
    job = api.show_job(reference, here.meta).job
    if task is not None and task != job.task:
        raise UsageError(f"job {job.id} is not of the task {task}", "leave it out")
    request = request_from_document(job.request, *_urls(here, job, sides))
    return replace(request, options=verify_options(options, request.options))


def _urls(here: Place, job: Job, sides: Sides) -> tuple[str, str]:
    """Typed, else of the task, else as kept: a password is never kept."""
    kept = (job.source, job.target or "")
    if any(sides) or job.task is None or job.task not in here.settings.tasks:
        source, target = (_url(here, job, *pair) for pair in zip(("--source", "--target"), sides, kept, strict=True))
    else:
        asked = here.settings.verify_request(job.task)
        source, target = asked.source, asked.target
    for url, before in zip((source, target), kept, strict=True):
        if not _same_place(parse_url(url), parse_url(before)):
            message = f"job {job.id} compared {before}, not {parse_url(url).redacted()}"
            raise UsageError(message, "what it found holds for that one alone: start a new verification")
    return source, target


def _url(here: Place, job: Job, option: str, typed: str | None, kept: str) -> str:
    if typed is not None:
        return here.settings.endpoint(typed)
    if MASK in kept:
        raise UsageError(
            f"the password of {kept} is not kept with job {job.id}", f"give {option} again (an endpoint's name will do)"
        )
    return kept


def _same_place(one: EndpointUrl, other: EndpointUrl) -> bool:
    return all(getattr(one, part) == getattr(other, part) for part in _SAME)
