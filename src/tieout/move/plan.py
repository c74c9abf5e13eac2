"""What a task moves: tables that are missing are made, those that are there must fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tieout.connectors.protocols.endpoint import Endpoint
from tieout.model.moves import Fence, GivenUp, Transfer
from tieout.model.requests import MoveRequest
from tieout.model.tables import Index, Table, TableName
from tieout.move.create_tables import Maker, Step
from tieout.move.schema_changes import as_planned
from tieout.tasks.routing import Route, refuse_unmakable, routes, transfer_of

_LATE = "it came after the task began, whose log does not tell of it: give it a task of its own"
_AWAY = (
    "earlier movers moved it, and it is not among the task's tables any more: it was dropped, renamed, left out, "
    "or the user may not see it"
)


@dataclass(frozen=True)
class Planner:
    request: MoveRequest
    endpoints: tuple[Endpoint, Endpoint]
    maker: Maker
    fence: Fence

    def transfers(self) -> list[Transfer]:
        """UnsupportedError if something does not fit; then nothing was made. Tables that were stopped are left out.

        What the two sides refuse was asked before (MovePreflight).
        """
        progress, task = self.maker.target.progress, self.request.task
        planned = progress.planned_columns(task)
        asked = routes(*self.endpoints, self.request)
        self._stop_late(asked, planned)
        self._stop_away(asked, planned)
        stopped = progress.stopped(task)
        found = [route for route in asked if str(route.source) not in stopped]
        sources = self.endpoints[0].describe([route.source for route in found])
        pairs = [
            (route, as_planned(table, planned.get(str(table.name)), partial(self._target_of, route)))
            for route, table in zip(found, sources, strict=True)
        ]
        refuse_unmakable(found)
        self._fitted([(route, table) for route, table in pairs if route.exists])  # before anything is made
        self.maker.make_missing(found, {table.name: table for _, table in pairs})
        for _, table in pairs:
            if str(table.name) not in planned:
                progress.plan_columns(self.fence, table.name, table.column_names)
        return self._fitted(pairs)

    def _stop_late(self, asked: Sequence[Route], planned: Mapping[str, object]) -> None:
        """A table that came after the task began is not moved, if the log tells only of those that it was made for."""
        progress = self.maker.target.progress
        known = progress.read(self.request.task)
        if known is None or known.began is None or self.maker.source.tells_all:
            return
        stopped = progress.stopped(self.request.task)
        for route in asked:
            if str(route.source) not in planned and str(route.source) not in stopped:
                progress.stop_table(self.fence, route.source, _LATE)

    def _stop_away(self, asked: Sequence[Route], planned: Mapping[str, object]) -> None:
        """The log is read on without it. If it came back one day, all that was passed meanwhile would be missing."""
        progress, there = self.maker.target.progress, {str(route.source) for route in asked}
        known = progress.read(self.request.task)
        for name in planned.keys() - there - progress.stopped(self.request.task).keys():
            table = TableName.parse(name)
            assert table is not None
            if known is None or known.began is None:
                progress.unplan_columns(self.fence, table)  # nothing was copied yet, and no log is read for it
            else:
                progress.stop_table(self.fence, table, f"{name}: {_AWAY}")

    def given_up(self) -> list[GivenUp]:
        """The tables that earlier movers stopped, whether they are still there or not."""
        progress, task = self.maker.target.progress, self.request.task
        stopped = progress.stopped(task)
        if not stopped:
            return []
        found = {str(route.source): route for route in routes(*self.endpoints, self.request)}
        chunks = progress.chunks(task, [route.source for name, route in found.items() if name in stopped])
        return [
            GivenUp(
                name,
                str(found[name].target) if name in found else None,
                reason,
                tuple(chunk for chunk in chunks if str(chunk.table) == name),
            )
            for name, reason in stopped.items()
        ]

    def _target_of(self, route: Route) -> Table:
        return self.endpoints[1].describe([route.target])[0]

    def _fitted(self, pairs: Sequence[tuple[Route, Table]]) -> list[Transfer]:
        made = self.maker.target.progress.made(self.request.task)
        targets = [
            as_made(target, source, made.get(str(source.name)))
            for (_, source), target in zip(
                pairs, self.endpoints[1].describe([route.target for route, _ in pairs]), strict=True
            )
        ]
        tells_generated = self.maker.source.tells_generated
        return [
            transfer_of(route.request, source, target, alike=self.maker.alike, tells_generated=tells_generated)
            for (route, source), target in zip(pairs, targets, strict=True)
        ]


def as_made(target: Table, source: Table, step: int | None) -> Table:
    """A table as it will be once its rows are copied, if it was made and they are not."""
    if step != Step.EMPTY:
        return target
    return replace(target, indexes=(*target.indexes, Index("", source.key, unique=True)))
