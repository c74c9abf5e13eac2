"""The database of a check, opened again for a repair."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field

from tieout.config.urls import EndpointUrl, parse_url
from tieout.connectors.protocols.endpoint import Endpoint
from tieout.connectors.protocols.repair import Repairer
from tieout.connectors.registry import open_endpoint, open_repairer
from tieout.errors import MissingObjectError, UsageError
from tieout.meta import Job, JobKind, MetaStore
from tieout.model.tables import Table, TableName


@dataclass
class Database:
    """`repairer` changes it; `endpoint` knows its tables."""

    url: EndpointUrl
    endpoint: Endpoint
    repairer: Repairer
    _tables: dict[str, Table | None] = field(default_factory=dict)

    def table(self, name: str) -> Table | None:
        """The table with the name that failures use; None if it no longer exists."""
        if name not in self._tables:
            self._tables[name] = self._described(name)
        return self._tables[name]

    def _described(self, name: str) -> Table | None:
        full = TableName.parse(name)
        try:
            return None if full is None else self.endpoint.describe([full])[0]
        except MissingObjectError:
            return None


@contextmanager
def opened(job: Job, url: EndpointUrl, *, enforce_constraints: bool = True) -> Iterator[Database]:
    """Opens the database of the job. The URL must name the same database; the user may be another."""
    if not parse_url(job.source).is_same_place(url):
        raise UsageError(
            f"job {job.id} checked {job.source}, not {url.redacted()}", "pass the URL of the same database"
        )
    with ExitStack() as stack:
        endpoint = stack.enter_context(closing(open_endpoint(url)))
        repairer = stack.enter_context(closing(open_repairer(url, enforce_constraints=enforce_constraints)))
        yield Database(url, endpoint, repairer)


def check_job(store: MetaStore, reference: str) -> Job:
    job = store.jobs.get(reference)
    if job.kind is not JobKind.CHECK:
        raise UsageError(f"job {job.id} is a {job.kind}, not a check", "see `tieout jobs list`")
    return job
