"""The URLs of a job that is taken up again: typed, of its task, or as they were kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tieout.config.secrets import MASK
from tieout.config.urls import parse_url
from tieout.errors import UsageError

if TYPE_CHECKING:
    from tieout.cli._support.context import Place
    from tieout.meta import Job

Sides = tuple[str | None, str | None]


def job_urls(here: Place, job: Job, typed: Sides) -> tuple[str, str]:
    """Source and target, to connect with. Both lead to where the job's did: what it found holds for no other place."""
    kept = (job.source, job.target or "")
    if not any(typed) and job.task is not None and job.task in here.settings.tasks:
        request = here.settings.verify_request(job.task)
        urls = request.source, request.target
    else:
        urls = _url(here, job, "--source", typed[0], kept[0]), _url(here, job, "--target", typed[1], kept[1])
    for url, before in zip(urls, kept, strict=True):
        _refuse_another_place(job, url, before)
    return urls


def job_url(here: Place, job: Job, option: str, typed: str | None) -> str:
    """That of a job that has one alone. `option` is how it is given again."""
    url = _url(here, job, option, typed, job.source)
    _refuse_another_place(job, url, job.source)
    return url


def _refuse_another_place(job: Job, url: str, before: str) -> None:
    if not parse_url(url).is_same_place(parse_url(before)):
        message = f"job {job.id} was of {before}, not of {parse_url(url).redacted()}"
        raise UsageError(message, "what it found holds for that one alone: start a new one")


def _url(here: Place, job: Job, option: str, typed: str | None, kept: str) -> str:
    if typed is not None:
        return here.settings.endpoint(typed)
    if MASK in kept:
        # A password is never kept.
        message = f"the password of {kept} is not kept with job {job.id}"
        raise UsageError(message, f"give {option} again: a URL, or the name of an endpoint in tieout.yaml")
    return kept
