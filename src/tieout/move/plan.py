"""What a task moves: creates missing tables; existing ones must fit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from tieout.connectors.protocols.endpoint import Endpoint
from tieout.errors import UnsupportedError, UsageError
from tieout.model.levels import is_transactional
from tieout.model.moves import Fence, StoppedTable, Transfer
from tieout.model.requests import MoveRequest
from tieout.model.tables import Index, Table, TableName
from tieout.move.create_tables import Session, Step, TableCreator
from tieout.move.schema_changes import as_planned
from tieout.tasks.created import key_of_created
from tieout.tasks.definition import changes_between, definition_of, is_same, left_out_of
from tieout.tasks.routing import Route, routes, transfer_of, without_lost
from tieout.tasks.shards import alike_shards

AWAY = (
    "earlier movers moved it, and the task no longer has it: it was dropped, renamed, left out, or is hidden from "
    "the user"
)


@dataclass
class Planner:
    """`only`: the tables of the source to plan; None: all of the task. Those that were created after the task began are
    left to a planner of their own: `late`.
    """

    request: MoveRequest
    endpoints: tuple[Endpoint, Endpoint]
    creator: TableCreator
    fence: Fence
    only: frozenset[TableName] | None = None
    session: Session | None = None
    late: list[TableName] = field(init=False, default_factory=list)
    _present: dict[TableName, tuple[str, ...]] = field(init=False, default_factory=dict)
    _left_out: dict[TableName, tuple[str, ...]] = field(init=False, default_factory=dict)

    def transfers(self) -> list[Transfer]:
        """The tables to move, without those that were stopped. UnsupportedError if something does not fit, before it
        creates a table. MovePreflight has checked before what the two sides refuse.
        """
        progress, task = self.creator.target.progress, self.request.task
        planned, types = progress.planned_columns(task), progress.planned_types(task)
        routed = self._routes()
        self._stop_away(routed, planned)
        stopped = progress.stopped(task)
        known = progress.read(task)
        if known is not None and known.began is not None:
            names = [route.source for route in routed if str(route.source) not in planned]
            self.late = [name for name in names if str(name) not in stopped]
        # Those that were stopped before they were planned have no rows there.
        able = [route for route in routed if str(route.source) in planned or str(route.source) not in stopped]
        self._refuse_alike(able, set(planned))
        stopped = progress.stopped(task)
        found = [route for route in routed if str(route.source) not in stopped and route.source not in self.late]
        self._refuse_rerouted(found)
        sources = self.endpoints[0].describe([route.source for route in found])
        self._present = {table.name: table.column_names for table in sources}
        stored = progress.definitions(task)
        self._left_out = {table.name: left_out_of(stored.get(str(table.name))) for table in sources}
        pairs = [
            (
                route,
                as_planned(
                    table,
                    planned.get(str(table.name)),
                    partial(self._target_of, route),
                    types.get(str(table.name), {}),
                    self._left_out[table.name],
                ),
            )
            for route, table in zip(found, sources, strict=True)
        ]
        began = known is not None and known.began is not None
        pairs = self._without_unfit(pairs, set(planned) if began else set())
        self._refuse_redefined(pairs)
        found = [route for route, _ in pairs]
        self._fitted([(route, table) for route, table in pairs if route.exists])  # before it creates anything
        self.creator.create_missing(found, {table.name: table for _, table in pairs}, self.session)
        known_targets = progress.targets(task)
        for route, table in pairs:
            name, definition = str(table.name), definition_of(route.request)
            if (known_targets.get(name), stored.get(name)) != (str(route.target), definition):
                columns = planned.get(name, table.column_names)
                progress.plan_columns(self.fence, table.name, columns, route.target, definition)
        return self._fitted(pairs)

    def _refuse_rerouted(self, found: Sequence[Route]) -> None:
        """UnsupportedError if rows of a table were copied to another target table, or that one was created for it."""
        target, task = self.creator.target, self.request.task
        chunks = target.chunks.of(task, [route.source for route in found])
        begun = {str(chunk.table) for chunk in chunks if chunk.held is not None} | target.progress.made(task).keys()
        stored = target.progress.targets(task)
        for route in found:
            if str(route.source) in begun and (reason := rerouted(route, stored, self.endpoints[1], task)) is not None:
                raise UnsupportedError(*reason)

    def _refuse_redefined(self, pairs: Sequence[tuple[Route, Table]]) -> None:
        """UnsupportedError if the task transforms a table otherwise than when its rows were copied."""
        target, task = self.creator.target, self.request.task
        stored = target.progress.definitions(task)
        chunks = target.chunks.of(task, [route.source for route, _ in pairs])
        copied = {chunk.table for chunk in chunks if chunk.held is not None}
        planned = {chunk.table for chunk in chunks}
        for route, source in pairs:
            reason = redefined(route, stored, task, self._present[source.name])
            if route.source not in planned or reason is None:
                continue
            # Without transactions, a chunk that was not finished has left rows, too.
            if route.source in copied or not is_transactional(target.level_of(self._target_of(route))):
                raise UnsupportedError(*reason)

    def _refuse_alike(self, routed: Sequence[Route], planned: Collection[str]) -> None:
        """Stops a late table whose rows could not be distinguished from another table's. UsageError if the task has not
        begun with it.
        """
        if self.session is None:
            return
        sources = {table.name: table for table in self.endpoints[0].describe([route.source for route in routed])}
        there = self.endpoints[1].describe(list(dict.fromkeys(route.target for route in routed if route.exists)))
        targets = {table.name: table for table in there}
        # Of two that are alike the first stays: one whose rows may be there already.
        first = sorted(routed, key=lambda route: str(route.source) not in planned)
        for name, error in alike_shards(first, sources, targets, self.session).items():
            if name in self.late:
                self.creator.target.progress.stop_table(self.fence, name, error.message)
                self.late.remove(name)
            elif str(name) not in planned:
                raise error

    def _without_unfit(self, pairs: Sequence[tuple[Route, Table]], begun: Collection[str]) -> list[tuple[Route, Table]]:
        """Stops tables that were begun, or join others, and can't be moved as they are by now: those go on."""
        alone = [pair for pair in pairs if str(pair[0].source) in begun or self.only is not None]
        unfit = {}
        for route, table in alone:
            if (reason := self.creator.source.refuses(table)) is not None:
                unfit[route.source] = reason
        there = [pair for pair in alone if pair[0].exists and pair[0].source not in unfit]
        if there and self._misfit(there) is not None:
            for pair in there:
                if (reason := self._misfit([pair])) is not None:
                    unfit[pair[0].source] = reason
        for name, reason in unfit.items():
            self.creator.target.progress.stop_table(self.fence, name, reason)
        return [pair for pair in pairs if pair[0].source not in unfit]

    def _misfit(self, pairs: Sequence[tuple[Route, Table]]) -> str | None:
        try:
            self._fitted(pairs)
        except (UnsupportedError, UsageError) as error:  # Spark has no type for what a column is by now
            return str(error)
        return None

    def _routes(self) -> list[Route]:
        found = routes(*self.endpoints, self.request)
        return found if self.only is None else [route for route in found if route.source in self.only]

    def _stop_away(self, routed: Sequence[Route], planned: Mapping[str, object]) -> None:
        """Stops tables that are gone. Movers read on without them: if one came back, it would lack changes."""
        progress, there = self.creator.target.progress, {str(route.source) for route in routed}
        known = progress.read(self.request.task)
        for name in planned.keys() - there - progress.stopped(self.request.task).keys():
            table = TableName.parse(name)
            assert table is not None
            if known is None or known.began is None:
                progress.unplan_columns(self.fence, table)  # nothing was copied yet, and no log was read for it
            else:
                progress.stop_table(self.fence, table, f"{name}: {AWAY}")
        for name in progress.forgotten(self.request.task) - there:
            table = TableName.parse(name)
            assert table is not None
            progress.unplan_columns(self.fence, table)

    def stopped_before(self) -> list[StoppedTable]:
        """The tables that earlier movers stopped, whether they still exist or not."""
        progress, task = self.creator.target.progress, self.request.task
        stopped = progress.stopped(task)
        if not stopped:
            return []
        found = {str(route.source): route for route in self._routes()}
        chunks = self.creator.target.chunks.of(task, [route.source for name, route in found.items() if name in stopped])
        return [
            StoppedTable(
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
        progress, task = self.creator.target.progress, self.request.task
        made, planned, stored = progress.made(task), progress.planned_columns(task), progress.definitions(task)
        targets = [
            as_made(target, source, made.get(str(source.name)), key_of_created(route.request, source))
            for (route, source), target in zip(
                pairs, self.endpoints[1].describe([route.target for route, _ in pairs]), strict=True
            )
        ]
        logs_generated_columns = self.creator.source.logs_generated_columns
        requests = [
            without_lost(route.request, source, self._left_out[route.source])
            if str(route.source) in planned and redefined(route, stored, task, self._present[source.name]) is None
            else route.request
            for route, source in pairs
        ]
        return [
            transfer_of(
                request,
                source,
                target,
                same_engine=self.creator.same_engine,
                logs_generated_columns=logs_generated_columns,
            )
            for request, (_, source), target in zip(requests, pairs, targets, strict=True)
        ]


def rerouted(route: Route, stored: Mapping[str, str], target: Endpoint, task: str) -> tuple[str, str] | None:
    """The message and the fix if a table's rows went to another target table than the task has for it now. `stored`:
    where they went.
    """
    before = old_target(route, stored, target)
    if before is None:
        return None
    return (
        f"{route.source}: its rows were copied to {before}, and the task has {route.target} for it now",
        f"let it go to {before} again (`to` in its entry), or drop the task and start over: tieout task drop {task}",
    )


def old_target(route: Route, stored: Mapping[str, str], target: Endpoint) -> str | None:
    """The target table that a table's rows went to, if that is another one than the task has for it now."""
    before, now = stored.get(str(route.source)), str(route.target)
    if before is None or before == now:
        return None
    if before.casefold() == now.casefold() and before not in map(str, target.tables([route.target.schema])):
        return None  # the server has changed the name's case when the table was created
    return before


def redefined(
    route: Route, stored: Mapping[str, str], task: str, columns: Collection[str], *, alone: bool = True
) -> tuple[str, str] | None:
    """The message and the fix if a table's rows were copied by another definition than the task has for it now. Tables
    that an earlier version planned have none.

    `columns`: those that it has by now. `alone`: a restart can replace its rows.
    """
    name, present = str(route.source), definition_of(route.request)
    if is_same(stored.get(name, present), present, columns):
        return None
    again = f"copy it again: tieout task restart {task} {name}" if alone else "drop the task and start over"
    return (
        f"{name}: its rows were copied by another definition: {changes_between(stored[name], present)}",
        f"restore the old definition, or {again}",
    )


def as_made(target: Table, source: Table, step: int | None, key: tuple[str, ...] | None = None) -> Table:
    """A table that the task has created, as it will be once its rows are copied: with an index on its key, which is the
    source's if there is no `key`.
    """
    if step != Step.EMPTY:
        return target
    return replace(target, indexes=(*target.indexes, Index("", source.key if key is None else key, unique=True)))
