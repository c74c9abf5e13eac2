"""All problems of a move at once, each with its fix, and what it would promise. Reads catalogs, changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TypeVar

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.endpoint import Endpoint
from tieout.connectors.registry import open_endpoint, open_source, open_target
from tieout.errors import TieoutError, UnsupportedError, UsageError
from tieout.model.levels import Levels, choose, consistencies_of, consistencies_upto, deliveries_of, levels_upto
from tieout.model.moves import JOINING
from tieout.model.preflight import MoveForecast, MoveTableForecast, Preflight, Problem, Severity
from tieout.model.requests import MoveRequest
from tieout.model.tables import TableName
from tieout.move.entries import routes_of_right_entries
from tieout.move.resume import all_stopped, start_over
from tieout.move.table_problems import TableProblems
from tieout.move.ways import Way, Ways
from tieout.tasks.preflight import as_problem, examine, untested, with_problems
from tieout.tasks.routing import Route, routes

_NAMED = 3
"""Tables to name of many."""


@dataclass(frozen=True)
class MovePreflight:
    """A task on two endpoints that are connected."""

    at: Ways

    @property
    def _tables(self) -> TableProblems:
        return TableProblems(self.at)

    def refuse(self) -> Levels:
        """Returns the levels that the task is moved with. UnsupportedError lists all problems, as a preflight does.
        Errors of the request keep their own type.
        """
        self._refuse_unfit()
        self._prove_feed()
        ways = self.at.of(routes(*self.at.endpoints, self.at.request))
        levels = self._levels(ways)
        found = [problem for problem in self._problems(ways, levels) if problem.severity is Severity.PREVENTS]
        if len(found) == 1:
            raise UnsupportedError(_with_table(found[0]), found[0].fix)
        if found:
            words = [f"{_with_table(problem)}{f' ({problem.fix})' if problem.fix else ''}" for problem in found]
            raise UnsupportedError("; ".join(words), f"list them with: tieout preflight {self.at.request.task}")
        return levels

    def _refuse_unfit(self) -> None:
        """Raises for a task of which no table can be moved."""
        task = self.at.request.task
        if JOINING in task:
            raise UsageError(
                f"a task can't be named {task}: names with {JOINING} are those of tables that join a task",
                "give it another name",
            )
        _refuse_strangers(*self.at.endpoints)

    def _prove_feed(self) -> None:
        """LogLostError if a feed lost what was read of it: nothing else has its tables, and they would seem dropped."""
        if self.at.endpoints[0].capabilities.rows or not self.at.target.is_prepared():
            return
        known = self.at.target.progress.read(self.at.request.task)
        if known is not None and known.reached is not None:
            self.at.source.log(self.at.request.task).resume(known.reached)

    def _levels(self, ways: Sequence[Way]) -> Levels:
        request = self.at.request
        return choose(request.delivery, request.consistency, self.at.source.level, map(self.at.target_level, ways))

    def examine_all(self) -> tuple[list[Problem], MoveForecast]:
        problems = [*untested("source", self.at.endpoints[0]), *untested("target", self.at.endpoints[1])]
        known = self._unless_lost(problems)
        ways = self.at.of(known)
        problems += self._all_stopped(known, ways) or self._stopped(known)
        levels, targets = self._levels(ways), list(map(self.at.target_level, ways))
        problems += [*self._problems(ways, levels), *self._tables.gone(ways)]
        retention = self.at.source.retention(self.at.request.task)
        if retention.warning is not None:
            problems.append(replace(retention.warning, side="source"))
        return problems, MoveForecast(
            levels.delivery,
            deliveries_of(targets),
            levels.consistency,
            consistencies_of(self.at.source.level, targets),
            consistencies_upto(self.at.source.level),
            tuple(self._forecast(way, levels) for way in ways),
            retention.limit,
            retention.kept,
            levels.reasons,
        )

    def _unless_lost(self, problems: list[Problem]) -> list[Route]:
        """The routes, unless the feed lost what was read of it: its tables may seem to be gone, then."""
        try:
            self._prove_feed()
        except TieoutError as error:
            problems.append(as_problem(error, Severity.PREVENTS, "source"))
            return []
        return self._known_routes(problems)

    def _all_stopped(self, known: Sequence[Route], ways: Sequence[Way]) -> list[Problem]:
        """Earlier movers have stopped every table, and nobody has asked for one of them again."""
        if ways or not known:
            return []
        task = self.at.request.task
        if any(str(route.source) in self.at.asked_again() for route in known):
            return []
        reason = next(iter(self.at.target.progress.stopped(task).values()))
        return [Problem(Severity.PREVENTS, all_stopped(task, reason), start_over(self.at.endpoints[0], task))]

    def _stopped(self, known: Sequence[Route]) -> list[Problem]:
        """Tables that earlier movers have stopped: nothing is moved of them until somebody asks for them again."""
        if not self.at.target.is_prepared():
            return []
        task, asked = self.at.request.task, self.at.asked_again()
        stopped = self.at.target.progress.stopped(task)
        fix = start_over(self.at.endpoints[0], task)
        return [
            Problem(Severity.NOTE, f"it is stopped: {stopped[name]}", fix, "source", name)
            for name in (str(route.source) for route in known)
            if name in stopped and name not in asked
        ]

    def _known_routes(self, problems: list[Problem]) -> list[Route]:
        """The routes of all entries that are right."""
        try:
            self._refuse_unfit()
        except TieoutError as error:
            problems.append(as_problem(error, Severity.PREVENTS))
            return []
        found, told = routes_of_right_entries(self.at.endpoints, self.at.request)
        problems += told
        return found

    def prevented(self, late: Collection[TableName], levels: Levels) -> dict[TableName, str]:
        """Returns which of the tables that are about to join the task can't, and why. `levels`: the task's."""
        ways = self.at.of(routes(*self.at.endpoints, self.at.request))
        return {
            way.table.name: problem.message
            for way, problem in self._tables.each(ways, levels)
            if way is not None and way.table.name in late and problem.severity is Severity.PREVENTS
        }

    def _problems(self, ways: Sequence[Way], levels: Levels) -> list[Problem]:
        return [*self._of_task(ways), *self._tables.of(ways, levels), *self._of_throttle()]

    def _of_task(self, ways: Sequence[Way]) -> Iterator[Problem]:
        """What suggests that the source or the target is another one than the task's."""
        task, prepared = self.at.request.task, self.at.target.is_prepared()
        if (
            not (prepared and self.at.target.progress.is_known(task))
            and self.at.source.retention(task).kept is not None
        ):
            message = f"it keeps its log for a task named {task} already, which this target does not know"
            yield Problem(
                Severity.PREVENTS,
                f"{message}: a mover to another target, or of another database of the server, may need it",
                f"give this task another name; or, if nobody needs that log any more: tieout task drop {task}",
                "source",
            )
        if not self.at.endpoints[0].capabilities.rows:
            return  # a feed whose files are others is noticed as such
        has_begun, moved = self.at.moved()
        left = set(moved) - (self.at.target.progress.stopped(task).keys() if has_begun else set())
        if left and left.isdisjoint(str(way.route.source) for way in ways):
            yield Problem(
                Severity.PREVENTS,
                f"none of the tables is there that the task moves ({', '.join(sorted(left)[:_NAMED])}): they were "
                "dropped, renamed, left out or hidden from the user, or this is another database",
                f"correct the source's URL; or, if they are gone for good: tieout task drop {task}",
                "source",
            )

    def _of_throttle(self) -> Iterator[Problem]:
        """A limit that can't be measured would never throttle the mover, and its user would not know."""
        options = self.at.request.options
        for limit, problem in (
            (options.max_load, self.at.target.load_problem),
            (options.max_replica_lag, self.at.target.lag_problem),
        ):
            if limit is not None and (found := problem()) is not None:
                yield replace(found, side="target")

    def _forecast(self, way: Way, levels: Levels) -> MoveTableForecast:
        promise = self._tables.promise(way, levels)
        return MoveTableForecast(
            str(way.route.source),
            str(way.route.target),
            way.state,
            way.table.key,
            levels_upto(self.at.target_level(way), keyed=bool(way.table.key)),
            promise.level,
            promise.refused or promise.words,
        )


def _with_table(problem: Problem) -> str:
    """The message, with its table unless it names it already."""
    if problem.table is None or problem.table in problem.message:
        return problem.message
    return f"{problem.table}: {problem.message}"


def _refuse_strangers(source: Endpoint, target: Endpoint) -> None:
    """UnsupportedError if one side's values have a form that only its own engine reads."""
    ours, theirs = source.capabilities, target.capabilities
    if ours.family != theirs.family and (ours.moves_only_within or theirs.moves_only_within):
        alone = ours.family if ours.moves_only_within else theirs.family
        raise UnsupportedError(
            f"Tieout can't move rows from {ours.family} to {theirs.family}", f"move {alone} to {alone}"
        )


T = TypeVar("T")


def preflight_move(request: MoveRequest, urls: tuple[EndpointUrl, EndpointUrl], meta: str) -> Preflight:
    """All problems of a move. Starts no Spark."""

    def look(left: Endpoint, right: Endpoint, found: Preflight) -> Preflight:
        problems: list[Problem] = []
        source = _reached(lambda: open_source(urls[0]), "source", problems)
        target = _reached(lambda: open_target(urls[1]), "target", problems)
        if source is None or target is None:
            return with_problems(found, problems)
        with closing(target):
            problems, move = MovePreflight(Ways(request, (left, right), source, target)).examine_all()
        return replace(with_problems(found, problems), move=move)

    return examine(urls, meta, open_endpoint, look)


def _reached(open_it: Callable[[], T], side: str, problems: list[Problem]) -> T | None:
    try:
        return open_it()
    except TieoutError as error:
        problems.append(as_problem(error, Severity.PREVENTS, side))
        return None
