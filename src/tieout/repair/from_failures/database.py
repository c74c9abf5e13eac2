"""The database of a check, opened again for a repair, and the triggers that a change would set off in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field

from tieout.config.urls import EndpointUrl, parse_url
from tieout.connectors.protocols.endpoint import Endpoint
from tieout.connectors.protocols.repair import Repairer, Trigger
from tieout.connectors.registry import open_endpoint, open_repairer
from tieout.errors import MissingObjectError, UsageError
from tieout.meta import ChangeAction, Job, JobKind, MetaStore, RepairChange
from tieout.model.repair_choices import Choice
from tieout.model.tables import Table, TableName
from tieout.repair.from_failures.details import details_of


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


_DOES = {ChangeAction.DELETE: "DELETE", ChangeAction.INSERT: "INSERT", ChangeAction.UPDATE: "UPDATE"}
_UNDOES = {ChangeAction.DELETE: "INSERT", ChangeAction.INSERT: "DELETE", ChangeAction.UPDATE: "UPDATE"}
_CHOSEN = {
    Choice.DELETE: "DELETE",
    Choice.KEEP_FIRST: "DELETE",
    Choice.KEEP_LAST: "DELETE",
    Choice.SET_NULL: "UPDATE",
    Choice.SET_DEFAULT: "UPDATE",
    Choice.REPLACE: "UPDATE",
    Choice.INSERT_PARENT: "INSERT",
    Choice.RESTORE: "INSERT",
}


class Triggers:
    """The triggers that a change would set off. Neither undo nor quarantine covers what they change elsewhere.

    Looks up each table's triggers once.
    """

    def __init__(self, repairer: Repairer) -> None:
        self._repairer = repairer
        self._known: dict[str, Sequence[Trigger]] = {}

    def set_off_by(self, table: Table, choice: Choice | None) -> str | None:
        """Why the choice can't be applied to rows of a table; None if no trigger would run."""
        if choice is Choice.RECOMPUTE:
            return _or_accept(self._running(table, self._repairer.rewrite_events))
        return _or_accept(self._running(table, [_CHOSEN[choice]])) if choice in _CHOSEN else None

    def at_apply(self, table: Table, change: RepairChange) -> str | None:
        details = details_of(change)
        if details.triggers:
            return None
        touched = details.touch and not (change.new_row or details.defaults)
        return _or_accept(self._running(table, self._repairer.rewrite_events if touched else [_DOES[change.action]]))

    def at_undo(self, table: Table, change: RepairChange) -> str | None:
        return None if details_of(change).triggers else self._running(table, [_UNDOES[change.action]])

    def _running(self, table: Table, events: Iterable[str]) -> str | None:
        name = str(table.name)
        if name not in self._known:
            self._known[name] = self._repairer.triggers(table)
        found = [f"{each.name} ({each.event})" for each in self._known[name] if each.event in events]
        if not found:
            return None
        several = f"triggers {', '.join(found)}" if len(found) > 1 else f"a trigger {found[0]}"
        return f"{name} has {several} that would run: drop or disable {'them' if len(found) > 1 else 'it'} first"


def _or_accept(reason: str | None) -> str | None:
    return None if reason is None else f"{reason}, or plan with --choose triggers=run"
