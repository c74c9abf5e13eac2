"""The request of a job that is to go on: as it was asked, with URLs that can connect."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tieout.cli.job_urls import Sides, job_urls
from tieout.cli.option_words import OptionWords, verify_options
from tieout.cli.table_words import TableWords
from tieout.errors import UsageError
from tieout.model.requests import VerifyRequest

if TYPE_CHECKING:
    from tieout.cli.place import Place


def resumed_request(
    here: Place,
    reference: str,
    sides: Sides,
    tables: TableWords | None = None,
    options: OptionWords | None = None,
) -> tuple[str, VerifyRequest]:
    """The job's id and its own request. Of what is typed, only URLs and what no digest depends on may be given."""
    from tieout import api
    from tieout.model.documents import request_from_document

    options = options or OptionWords()
    given = [*(tables.given if tables else ()), *options.given_for_the_plan]
    if given:
        raise UsageError(
            f"a resumed job compares what it was asked to: {given[0]} can't be given again", "leave it out"
        )
    job = api.resumable_job(reference, here.meta)
    request = request_from_document(job.request, *job_urls(here, job, sides))
    return job.id, replace(request, options=verify_options(options, request.options))
