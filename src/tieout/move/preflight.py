"""Every problem of a move at once, each with its fix, and what it would promise. Reads catalogs, changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TypeVar

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.endpoint import Endpoint
from tieout.connectors.protocols.move import Destination, Source, Target
from tieout.connectors.registry import open_endpoint, open_source, open_target
from tieout.errors import TieoutError, UnsupportedError
from tieout.model.moves import Delivery, Fence, Transfer
from tieout.model.preflight import (
    MoveForecast,
    MoveTableForecast,
    Preflight,
    Problem,
    Severity,
    TableState,
    consistencies_upto,
    deliveries_of,
    level_of,
    levels_upto,
    promise_of,
)
from tieout.model.requests import MoveRequest
from tieout.model.tables import Table, TableName
from tieout.move.create_tables import MAKE_IT, Maker, lost_words
from tieout.move.plan import as_made
from tieout.tasks.preflight import as_problem, examine, untested, with_problems
from tieout.tasks.routing import Route, refuse_unmakable, routes, transfer_of


@dataclass(frozen=True)
class _Way:
    """A route, the table that it begins with, and what is at its end.

    `filled`: with rows in it. `step`: how far it is (Step), if the task made it.
    """

    route: Route
    table: Table
    destination: Destination
    filled: bool
    step: int | None

    @property
    def state(self) -> TableState:
        if self.destination.begun:
            return TableState.BEGUN
        return TableState.MISSING if self.destination.there is None else TableState.THERE


@dataclass(frozen=True)
class MovePreflight:
    """A task on two endpoints that were reached."""

    request: MoveRequest
    endpoints: tuple[Endpoint, Endpoint]
    source: Source
    target: Target

    def refuse(self) -> None:
        """UnsupportedError says all that stands in the way, as a preflight does. Errors of the request are its own."""
        _refuse_strangers(*self.endpoints)
        ways = self._ways(routes(*self.endpoints, self.request))
        found = [problem for problem in self._problems(ways) if problem.severity is Severity.PREVENTS]
        if len(found) == 1:
            raise UnsupportedError(_told(found[0]), found[0].fix)
        if found:
            words = [f"{_told(problem)}{f' ({problem.fix})' if problem.fix else ''}" for problem in found]
            raise UnsupportedError("; ".join(words), f"tieout preflight {self.request.task} lists them")

    def look_ahead(self) -> tuple[list[Problem], MoveForecast]:
        problems = [*untested("source", self.endpoints[0]), *untested("target", self.endpoints[1])]
        ways = self._ways(self._known_routes(problems))
        problems += [*self._problems(ways), *_gone(ways)]
        retention = self.source.retention(self.request.task)
        if retention.warning is not None:
            problems.append(replace(retention.warning, side="source"))
        return problems, MoveForecast(
            self.request.delivery,
            deliveries_of(self.target.level),
            self.request.consistency,
            consistencies_upto(self.source.level),
            tuple(self._forecast(way) for way in ways),
            retention.limit,
            retention.kept,
        )

    def _known_routes(self, problems: list[Problem]) -> list[Route]:
        """One entry of a task that is wrong does not hide what is wrong with the others."""
        try:
            _refuse_strangers(*self.endpoints)
        except TieoutError as error:
            problems.append(as_problem(error, Severity.PREVENTS))
            return []
        known = []
        for table in self.request.tables:
            try:
                routes(*self.endpoints, replace(self.request, tables=(table,)))
                known.append(table)
            except TieoutError as error:
                problems.append(as_problem(error, Severity.PREVENTS))
        if self.request.tables and not known:
            return []
        try:
            return routes(*self.endpoints, replace(self.request, tables=tuple(known)))
        except TieoutError as error:
            problems.append(as_problem(error, Severity.PREVENTS))
            return []

    def _ways(self, found: Sequence[Route]) -> list[_Way]:
        """Without tables that were stopped."""
        # In this order: what is left of a mover that was killed may still write rows, and that it did.
        filled = self.target.filled([route.target for route in found if route.exists])
        copied, stopped = self._kept([route.source for route in found])
        found = [route for route in found if str(route.source) not in stopped]
        made = self.target.progress.made(self.request.task) if self.target.is_prepared() else {}
        tables = self.endpoints[0].describe([route.source for route in found])
        there = {
            table.name: table for table in self.endpoints[1].describe([route.target for route in found if route.exists])
        }
        return [
            _Way(
                route,
                table,
                Destination(route.target, there.get(route.target), route.source in copied, _refers(table)),
                route.target in filled,
                made.get(str(route.source)),
            )
            for route, table in zip(found, tables, strict=True)
        ]

    def _kept(self, tables: Sequence[TableName]) -> tuple[set[TableName], set[str]]:
        """The tables of which the task has copied rows, and those that it has stopped."""
        if not self.target.is_prepared():
            return set(), set()
        chunks = self.target.progress.chunks(self.request.task, tables)
        copied = {chunk.table for chunk in chunks if chunk.held is not None}
        return copied, set(self.target.progress.stopped(self.request.task))

    def _problems(self, ways: Sequence[_Way]) -> list[Problem]:
        found = self.source.problems(self.request.task, [way.table for way in ways])
        found = [replace(problem, side="source") for problem in found]
        theirs = self.target.problems([way.destination for way in ways])
        found += [replace(problem, side="target") for problem in theirs]
        found += [problem for way in ways for problem in self._misfits(way)]
        return [*found, *self._of_throttle(), *self._of_delivery(ways)]

    def _of_throttle(self) -> Iterator[Problem]:
        """A limit that nobody can measure would never hold a mover back, and its user would not know."""
        options = self.request.options
        for limit, problem in (
            (options.max_load, self.target.load_problem),
            (options.max_replica_lag, self.target.lag_problem),
        ):
            if limit is not None and (found := problem()) is not None:
                yield replace(found, side="target")

    def _misfits(self, way: _Way) -> Iterator[Problem]:
        """What is begun was looked at then; columns that changed since are followed."""
        name, there = str(way.table.name), way.destination.there
        if way.destination.begun:
            return
        if way.filled and not self._is_shared(way):
            message = "it is not empty, and its rows are not of this task: they would be in the way"
            fix = f"TRUNCATE TABLE {way.route.target}, or drop it and let it be made"
            yield Problem(Severity.PREVENTS, message, fix, "target", str(way.route.target))
        try:
            if there is not None:
                self._fitted(way, there)
                return
            refuse_unmakable([way.route])
            maker = Maker(self.source, self.target, Fence(self.request.task, 0), self._alike)
            if (reason := maker.unholdable(way.table)) is not None:
                yield Problem(Severity.PREVENTS, reason, MAKE_IT, "target", name)
        except TieoutError as error:
            yield as_problem(error, Severity.PREVENTS, "target", name)

    def _fitted(self, way: _Way, there: Table) -> Transfer:
        return transfer_of(
            way.route.request,
            way.table,
            as_made(there, way.table, way.step),
            alike=self._alike,
            tells_generated=self.source.tells_generated,
        )

    def _is_shared(self, way: _Way) -> bool:
        """Whether rows of others may be there: the key tells which are whose."""
        try:
            shape = way.destination.there and self._fitted(way, way.destination.there).shape
        except TieoutError:
            return False  # what is wrong with it is told by itself
        return bool(shape and shape.shared)

    def _of_delivery(self, ways: Sequence[_Way]) -> Iterator[Problem]:
        delivery, consistency = self.request.delivery, self.request.consistency
        if delivery not in deliveries_of(self.target.level):
            yield Problem(Severity.PREVENTS, f"the target can't take changes {delivery}", "choose another `delivery`")
        if consistency not in consistencies_upto(self.source.level):
            message = f"the source's log does not tell what belongs to one {consistency}"
            yield Problem(Severity.PREVENTS, message, "choose another `consistency`")
        for way in ways:
            if not way.table.key and delivery is Delivery.AT_LEAST_ONCE:
                message = "no key: killed, the last batch of changes may be there twice"
                fix = "delivery: exactly-once, or add a primary key"
                yield Problem(Severity.NOTE, message, fix, table=str(way.table.name))

    def _forecast(self, way: _Way) -> MoveTableForecast:
        keyed, delivery = bool(way.table.key), self.request.delivery
        return MoveTableForecast(
            str(way.route.source),
            str(way.route.target),
            way.state,
            way.table.key,
            levels_upto(self.target.level, keyed=keyed),
            level_of(delivery, keyed=keyed),
            promise_of(delivery, keyed=keyed),
        )

    @property
    def _alike(self) -> bool:
        return self.endpoints[0].capabilities.family == self.endpoints[1].capabilities.family


def _gone(ways: Sequence[_Way]) -> Iterator[Problem]:
    """In the words of a mover, which has an error of its own for it."""
    for way in ways:
        if way.destination.begun and way.destination.there is None:
            message, fix = lost_words(way.route)
            yield Problem(Severity.PREVENTS, message, fix, "target", str(way.route.source))


def _refers(table: Table) -> bool:
    return any(constraint.kind == "foreign key" for constraint in table.constraints)


def _told(problem: Problem) -> str:
    """With its table, unless it has that in its own words."""
    if problem.table is None or problem.table in problem.message:
        return problem.message
    return f"{problem.table}: {problem.message}"


def _refuse_strangers(source: Endpoint, target: Endpoint) -> None:
    """UnsupportedError if one side's values have a form that only its own kind reads."""
    ours, theirs = source.capabilities, target.capabilities
    if ours.family != theirs.family and (ours.moves_within or theirs.moves_within):
        alone = ours.family if ours.moves_within else theirs.family
        raise UnsupportedError(
            f"rows can't be moved from {ours.family} to {theirs.family}", f"{alone} is moved to {alone} alone"
        )


T = TypeVar("T")


def preflight_move(request: MoveRequest, urls: tuple[EndpointUrl, EndpointUrl], meta: str) -> Preflight:
    """All that stands in the way of a move. Starts no Spark."""

    def look(left: Endpoint, right: Endpoint, found: Preflight) -> Preflight:
        problems: list[Problem] = []
        source = _reached(lambda: open_source(urls[0]), "source", problems)
        target = _reached(lambda: open_target(urls[1]), "target", problems)
        if source is None or target is None:
            return with_problems(found, problems)
        with closing(target):
            problems, move = MovePreflight(request, (left, right), source, target).look_ahead()
        return replace(with_problems(found, problems), move=move)

    return examine(urls, meta, open_endpoint, look)


def _reached(open_it: Callable[[], T], side: str, problems: list[Problem]) -> T | None:
    try:
        return open_it()
    except TieoutError as error:
        problems.append(as_problem(error, Severity.PREVENTS, side))
        return None
