"""The two endpoints of a job, opened again: what was compared is planned anew, from the job's own request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass

from tieout.config.urls import EndpointUrl, parse_url
from tieout.connectors.registry import open_endpoint, open_writer
from tieout.connectors.writing import Writer
from tieout.errors import UnsupportedError, UsageError
from tieout.meta import Job, JobKind, MetaStore
from tieout.model.redaction import values_hidden
from tieout.model.request_documents import request_from_document
from tieout.repair.from_differences.tables import RepairTable, repair_table
from tieout.verify.planning import plan_tables


@dataclass(frozen=True)
class Sides:
    """The tables that can be repaired, by name, parents before the tables that refer to them; why others can't.

    `redacts`: the verification kept no values, and what is said of rows quotes none.
    """

    writer: Writer
    tables: Mapping[str, RepairTable]
    refused: Mapping[str, str]
    redacts: bool = False


@contextmanager
def opened(job: Job, source_url: EndpointUrl, target_url: EndpointUrl) -> Iterator[Sides]:
    """Connects to both sides of a verification. The URLs must lead to where the job's did; the user may be another."""
    _check_place("source", job.source, source_url)
    _check_place("target", job.target or "", target_url)
    request = request_from_document(job.request, source_url.reveal(), target_url.reveal())
    with ExitStack() as stack:
        stack.enter_context(values_hidden(request.options.redact_values))
        source = stack.enter_context(closing(open_endpoint(source_url)))
        target = stack.enter_context(closing(open_endpoint(target_url)))
        if not target.capabilities.writable:
            raise UnsupportedError(f"{target_url.redacted()} can't be written to, so it can't be repaired")
        writer = stack.enter_context(closing(open_writer(target_url)))
        same_engine = source.capabilities.family == target.capabilities.family
        tables: dict[str, RepairTable] = {}
        refused: dict[str, str] = {}
        for planned in plan_tables(source, target, request):
            name = str(planned.pair.source or planned.pair.target)
            found = repair_table(planned, writer, same_engine=same_engine)
            if isinstance(found, str):
                refused[name] = found
            else:
                tables[name] = found
        ordered = {table.name: table for table in parents_first(list(tables.values()))}
        yield Sides(writer, ordered, refused, request.options.redact_values)


def verification(store: MetaStore, reference: str) -> Job:
    """The job that a reference means; `last` is the last verification, whatever ran after it."""
    if reference == "last":
        for job in store.jobs.list(limit=1000):
            if job.kind is JobKind.VERIFICATION:
                return job
        raise UsageError("there is no verification to repair from", "run `tieout verify` first")
    job = store.jobs.get(reference)
    if job.kind is not JobKind.VERIFICATION:
        raise UsageError(f"job {job.id} is a {job.kind}, not a verification", "see `tieout jobs list`")
    return job


def parents_first(tables: Sequence[RepairTable]) -> list[RepairTable]:
    """Tables before those that refer to them; in a circle of references, the order they came in."""
    left = list(tables)
    ordered: list[RepairTable] = []
    while left:
        children = {r.child for t in left for r in t.references if r.child != t.table.name}
        free = [table for table in left if table.table.name not in children] or left[:1]
        ordered += free
        left = [table for table in left if table not in free]
    return ordered


def _check_place(side: str, redacted: str, url: EndpointUrl) -> None:
    known = parse_url(redacted)
    if not known.is_same_place(url):
        raise UsageError(f"the job's {side} was {redacted}, not {url.redacted()}", "give the same database again")
