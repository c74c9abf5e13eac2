"""Tables that are to be copied again: the target forgets them, so that they join their task as if they were new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tieout.connectors.protocols.endpoint import Endpoint
from tieout.connectors.protocols.move import Target
from tieout.failpoints import reach
from tieout.model.moves import Fence, joining_task
from tieout.model.requests import MoveRequest
from tieout.move.plan import old_target
from tieout.tasks.routing import Route, routes, takes_rows_of_others


@dataclass(frozen=True)
class Restarts:
    """The tables of a task whose progress the target has."""

    request: MoveRequest
    endpoints: tuple[Endpoint, Endpoint]
    target: Target

    def run(self, fence: Fence) -> list[str]:
        """Empties and forgets the tables that somebody asked for. Returns remarks.

        A table that joins the task is being copied again already.
        """
        progress, task = self.target.progress, self.request.task
        asked = self.target.restarts.requested(task)
        if not asked:
            return []
        found, joining = routes(*self.endpoints, self.request), progress.planned_columns(joining_task(task))
        remarks = []
        for name in sorted(asked):
            reason = None if name in joining else self.refused(name, found)
            if name in joining or reason is not None:
                remarks += [reason] if reason is not None else []
                self.target.restarts.cancel(fence, name)
                continue
            route = next(each for each in found if str(each.source) == name)
            self._forget(fence, route)
        return remarks

    def refused(self, name: str, found: Sequence[Route]) -> str | None:
        """Why a table can't be copied again alone, if it can't: others would lose rows. `found` are all routes."""
        route = next((each for each in found if str(each.source) == name), None)
        if route is None:
            return f"{name} can't be copied again: the task does not have it, or it is gone"
        if not self._has_written(route):
            return None
        before = old_target(route, self.target.progress.targets(self.request.task), self.endpoints[1])
        if before is not None:
            return (
                f"{name} can't be copied again: it was copied to {before}, and the task has {route.target} for it now"
            )
        if (reason := self._unknown_column(route)) is not None:
            return f"{name} can't be copied again: {reason}"
        alone = f"{name} can't be copied again alone: {route.target}"
        if (other := self._other(route, found)) is not None:
            return f"{alone} holds rows of {other}, too"
        if route.exists and self._may_have_others(route):
            return f"{alone} may hold rows of others, which its key tells apart"
        return None

    def _other(self, route: Route, found: Sequence[Route]) -> str | None:
        """Another table whose rows go to the same target, or once went there: it may be stopped, left out or gone."""
        task = self.request.task
        others = [str(each.source) for each in found if each.target == route.target and each is not route]
        known = self.target.progress.tables_into(route.target) if route.exists else set()
        for whose, source in sorted(known):
            if whose not in (task, joining_task(task)):
                others.append(f"{source} (of the task {whose})")
            elif source != str(route.source):
                others.append(source)
        return others[0] if others else None

    def _may_have_others(self, route: Route) -> bool:
        (source,), (target,) = (
            endpoint.describe([name])
            for endpoint, name in zip(self.endpoints, (route.source, route.target), strict=True)
        )
        return takes_rows_of_others(route.request, source, target)

    def _unknown_column(self, route: Route) -> str | None:
        """A column that the entry names and the source has lost: nobody could plan the table after it was emptied."""
        (source,) = self.endpoints[0].describe([route.source])
        known = {name.casefold() for name in source.column_names}
        for setting, names in (("columns", route.request.columns), ("exclude_columns", route.request.exclude_columns)):
            if lost := [name for name in names or () if name.casefold() not in known]:
                return f"it has no column {lost[0]}: correct {setting} first"
        return None

    def _has_written(self, route: Route) -> bool:
        """Whether the task has copied anything of the table, or created its target: else the rows there are others'."""
        progress, task = self.target.progress, self.request.task
        return bool(self.target.chunks.of(task, [route.source])) or str(route.source) in progress.made(task)

    def _forget(self, fence: Fence, route: Route) -> None:
        wrote = self._has_written(route)
        if wrote:
            self.target.restarts.begin(fence, route.source)
            if route.exists:
                self._empty(fence, route)
            reach("restart-emptied")
        self.target.restarts.forget_table(fence, str(route.source), route.target if wrote else None)

    def _empty(self, fence: Fence, route: Route) -> None:
        """A table that the task created is dropped, if it can be: the source's may be defined otherwise by now."""
        made = str(route.source) in self.target.progress.made(fence.task)
        copied = self.target.chunks.of(fence.task, [route.source])
        if not copied and self.target.tables_with_rows([route.target]):
            return
        self.target.clear(fence, route.target, drop=made)
