"""The context of a command: its configuration, meta store and Spark session, and the URLs of a job that it resumes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tieout.cli._support.output import write_stderr
from tieout.config.secrets import MASK
from tieout.config.urls import parse_url
from tieout.errors import UsageError

if TYPE_CHECKING:
    from tieout.api import SparkSettings
    from tieout.config.settings import Settings
    from tieout.meta import Job


@dataclass(frozen=True, slots=True)
class Context:
    """The configuration, with the options that override it."""

    settings: Settings
    meta: str
    master: str
    conf: Mapping[str, str]

    def spark(self, verbose: bool, *, redacts: bool) -> SparkSettings:
        """The session to start if one is needed. Spark's log quotes values: redaction suppresses it."""
        from tieout.api import SparkSettings

        if verbose and redacts:
            write_stderr("Spark's log is suppressed: it would show row values, and values are redacted")
        return SparkSettings(self.master, self.conf, verbose and not redacts)


def load_context(
    config: Path | None, meta: str | None = None, master: str | None = None, *, required: bool = False
) -> Context:
    """Reads the configuration. Without --config and ./tieout.yaml it has the defaults, unless a file is required."""
    from tieout.config.file import load

    settings = load(config, required=required)
    return Context(
        settings,
        meta or settings.meta.reveal(),
        master or settings.spark.master,
        settings.spark.conf,
    )


Sides = tuple[str | None, str | None]


def job_urls(context: Context, job: Job, typed: Sides) -> tuple[str, str]:
    """Source and target with their passwords. Both name the job's own databases: its results hold for no others."""
    kept = (job.source, job.target or "")
    if not any(typed) and job.task is not None and job.task in context.settings.tasks:
        request = context.settings.verify_request(job.task)
        urls = request.source, request.target
    else:
        urls = _url(context, job, "--source", typed[0], kept[0]), _url(context, job, "--target", typed[1], kept[1])
    for url, before in zip(urls, kept, strict=True):
        _refuse_another_place(job, url, before)
    return urls


def job_url(context: Context, job: Job, option: str, typed: str | None) -> str:
    """The URL of a job with one database. `option` is how the user gives it again."""
    url = _url(context, job, option, typed, job.source)
    _refuse_another_place(job, url, job.source)
    return url


def refuse_edited_task(context: Context, job: Job) -> None:
    """UsageError if the configuration has the job's task, and it says something else about the job's tables by now."""
    from tieout import api
    from tieout.meta import JobKind
    from tieout.model.documents import request_from_document
    from tieout.model.requests import Meaning
    from tieout.tasks.edited_tables import edited_table

    if job.kind is not JobKind.VERIFICATION or job.task is None or job.task not in context.settings.tasks:
        return
    before = request_from_document(job.request, job.source, job.target or "")
    if before.meaning is Meaning.ENGINE:  # a job of an earlier version
        return
    task = context.settings.task(job.task)
    tables = [(each.source_table, each.target_table) for each in api.show_job(job.id, context.meta).tables]
    present = [table.request() for table in task.tables]
    is_moved = before.meaning is Meaning.MOVED, task.is_moved
    if name := edited_table(before.tables, present, tables, is_moved=is_moved):
        message = f"the task {job.task} was edited since job {job.id}: it says something else about {name}"
        raise UsageError(message, f"verify it again: tieout verify {job.task}")


def _refuse_another_place(job: Job, url: str, before: str) -> None:
    if not parse_url(url).is_same_place(parse_url(before)):
        message = f"job {job.id} ran on {before}, not on {parse_url(url).redacted()}"
        raise UsageError(message, "its results hold only for that database: start a new job")


def _url(context: Context, job: Job, option: str, typed: str | None, kept: str) -> str:
    if typed is not None:
        return context.settings.endpoint(typed)
    if MASK in kept:
        message = f"job {job.id} did not store the password of {kept}"
        raise UsageError(message, f"give {option} again: a URL, or the name of an endpoint in tieout.yaml")
    return kept
