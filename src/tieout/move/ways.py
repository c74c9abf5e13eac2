"""What a move finds at both ends of its routes: the source's table, the target's, and how far the task is with them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from tieout.connectors.protocols.endpoint import Endpoint
from tieout.connectors.protocols.move import Destination, Source, Target
from tieout.errors import EndpointError
from tieout.model.levels import TargetLevel, is_transactional, levels_upto, weaker
from tieout.model.moves import joining_task
from tieout.model.preflight import TableState
from tieout.model.requests import MoveRequest
from tieout.model.tables import Table, TableName
from tieout.tasks.routing import Route


@dataclass(frozen=True)
class Way:
    """A route, its source table, and what exists at its target.

    `filled`: the target has rows. `step`: how far the target table is (Step), if the task created it. `late`: the task
    has begun without it.
    """

    route: Route
    table: Table
    destination: Destination
    filled: bool
    step: int | None
    late: bool

    @property
    def state(self) -> TableState:
        if self.destination.has_task_rows:
            return TableState.BEGUN
        return TableState.MISSING if self.destination.there is None else TableState.THERE


@dataclass(frozen=True)
class Ways:
    """Reads the ways of a task on two endpoints that are connected."""

    request: MoveRequest
    endpoints: tuple[Endpoint, Endpoint]
    source: Source
    target: Target

    def of(self, found: Sequence[Route]) -> list[Way]:
        """The routes with what exists at both ends, without tables that were stopped."""
        # In this order: what is left of a killed mover may still write rows, and then record that it did.
        filled = self.target.tables_with_rows([route.target for route in found if route.exists])
        planned, copied, stopped = self._kept([route.source for route in found])
        found = [route for route in found if str(route.source) not in stopped]
        tasks = (self.request.task, joining_task(self.request.task)) if self.target.is_prepared() else ()
        made = {name: step for task in tasks for name, step in self.target.progress.made(task).items()}
        has_begun, moved = self.moved()
        tables = self.endpoints[0].describe([route.source for route in found])
        there = {
            table.name: table for table in self.endpoints[1].describe([route.target for route in found if route.exists])
        }
        return [
            Way(
                route,
                table,
                Destination(
                    route.target,
                    there.get(route.target),
                    # Without transactions, a chunk that was not finished has left rows, too.
                    route.source in (copied if self.is_transactional(there.get(route.target)) else planned),
                    _refers(table),
                ),
                route.target in filled,
                made.get(str(route.source)),
                has_begun and str(route.source) not in moved,
            )
            for route, table in zip(found, tables, strict=True)
        ]

    def moved(self) -> tuple[bool, Collection[str]]:
        """Whether the task has begun, and with which tables."""
        if not self.target.is_prepared():
            return False, ()
        progress, task = self.target.progress, self.request.task
        return progress.has_begun(task), progress.planned_columns(task)

    def is_transactional(self, there: Table | None) -> bool:
        return is_transactional(self.target.level_of(there))

    def _kept(self, tables: Sequence[TableName]) -> tuple[set[TableName], set[TableName], set[str]]:
        """The tables that the task has begun to copy, those that have copied rows, and those that it has stopped."""
        if not self.target.is_prepared():
            return set(), set(), set()
        tasks = (self.request.task, joining_task(self.request.task))
        chunks = [chunk for task in tasks for chunk in self.target.chunks.of(task, tables)]
        copied = {chunk.table for chunk in chunks if chunk.held is not None}
        return {chunk.table for chunk in chunks}, copied, set(self.target.progress.stopped(self.request.task))

    def target_level(self, way: Way) -> TargetLevel:
        """What the target is found to be for a table, weakened by the task."""
        level = weaker(self.target.level_of(way.destination.there), self.request.target_level)
        return levels_upto(level, keyed=bool(way.table.key))[-1]

    def asked_again(self) -> set[str]:
        """The tables that are to be copied again."""
        try:
            return self.target.restarts.requested(self.request.task)
        except EndpointError as error:
            if error.transient:
                raise
            return set()  # tables of an older layout

    @property
    def same_engine(self) -> bool:
        return self.endpoints[0].capabilities.family == self.endpoints[1].capabilities.family


def judged_apart(target: Target, task: str) -> Callable[[TableName], bool]:
    """Tells the tables of the source that hold no others back, whatever is wrong with them: earlier movers stopped
    them, or have copied rows of them and follow their changes; or they are late, and are judged when they join.
    """
    if not target.is_prepared():
        return lambda name: False
    progress = target.progress
    planned, has_begun = progress.planned_columns(task).keys(), progress.has_begun(task)
    tables = [table for name in planned if (table := TableName.parse(name)) is not None]
    apart = progress.stopped(task).keys() | {
        str(chunk.table) for chunk in target.chunks.of(task, tables) if chunk.held is not None
    }
    return lambda name: str(name) in apart or (has_begun and str(name) not in planned)


def _refers(table: Table) -> bool:
    return any(constraint.kind == "foreign key" for constraint in table.constraints)
