"""All problems of a move at once, each with its fix, and what it would promise. Reads catalogs, changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import TypeVar

from tieout.config.urls import EndpointUrl
from tieout.connectors.protocols.endpoint import Endpoint
from tieout.connectors.protocols.move import Destination, Source, Target
from tieout.connectors.registry import open_endpoint, open_source, open_target
from tieout.errors import EndpointError, TieoutError, UnsupportedError, UsageError
from tieout.model.levels import (
    Levels,
    Promise,
    TargetLevel,
    choose,
    consistencies_of,
    consistencies_upto,
    deliveries_of,
    is_transactional,
    levels_upto,
    promise_of,
    weaker,
)
from tieout.model.moves import JOINING, Delivery, Fence, Transfer, joining_task
from tieout.model.preflight import MoveForecast, MoveTableForecast, Preflight, Problem, Severity, TableState
from tieout.model.requests import MoveRequest
from tieout.model.tables import Table, TableName
from tieout.move.create_tables import CREATE_IT, TableCreator, lost_table, refuse_unlike
from tieout.move.entries import routes_of_right_entries
from tieout.move.plan import as_made, redefined
from tieout.move.resume import all_stopped, start_over
from tieout.tasks.created import key_of_created
from tieout.tasks.preflight import as_problem, examine, untested, with_problems
from tieout.tasks.routing import Route, created_columns, merged_targets, routes, transfer_of
from tieout.tasks.transforms import condition_of, nondeterministic_part, tells_tables_apart

_NAMED = 3
"""Tables to name of many."""


@dataclass(frozen=True)
class _Way:
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
class MovePreflight:
    """A task on two endpoints that are connected."""

    request: MoveRequest
    endpoints: tuple[Endpoint, Endpoint]
    source: Source
    target: Target

    def refuse(self) -> Levels:
        """Returns the levels that the task is moved with. UnsupportedError lists all problems, as a preflight does.
        Errors of the request keep their own type.
        """
        self._refuse_unfit()
        self._prove_feed()
        ways = self._ways(routes(*self.endpoints, self.request))
        levels = self._levels(ways)
        found = [problem for problem in self._problems(ways, levels) if problem.severity is Severity.PREVENTS]
        if len(found) == 1:
            raise UnsupportedError(_with_table(found[0]), found[0].fix)
        if found:
            words = [f"{_with_table(problem)}{f' ({problem.fix})' if problem.fix else ''}" for problem in found]
            raise UnsupportedError("; ".join(words), f"list them with: tieout preflight {self.request.task}")
        return levels

    def _refuse_unfit(self) -> None:
        """Raises for a task of which no table can be moved."""
        if JOINING in self.request.task:
            raise UsageError(
                f"a task can't be named {self.request.task}: names with {JOINING} are those of tables that join a task",
                "give it another name",
            )
        _refuse_strangers(*self.endpoints)

    def _prove_feed(self) -> None:
        """LogLostError if a feed lost what was read of it: nothing else has its tables, and they would seem dropped."""
        if self.endpoints[0].capabilities.rows or not self.target.is_prepared():
            return
        known = self.target.progress.read(self.request.task)
        if known is not None and known.reached is not None:
            self.source.log(self.request.task).resume(known.reached)

    def _levels(self, ways: Sequence[_Way]) -> Levels:
        request = self.request
        return choose(request.delivery, request.consistency, self.source.level, map(self._target_level, ways))

    def _target_level(self, way: _Way) -> TargetLevel:
        """What the target is found to be for a table, weakened by the task."""
        level = weaker(self.target.level_of(way.destination.there), self.request.target_level)
        return levels_upto(level, keyed=bool(way.table.key))[-1]

    def examine_all(self) -> tuple[list[Problem], MoveForecast]:
        problems = [*untested("source", self.endpoints[0]), *untested("target", self.endpoints[1])]
        known = self._unless_lost(problems)
        ways = self._ways(known)
        problems += self._all_stopped(known, ways)
        levels, targets = self._levels(ways), list(map(self._target_level, ways))
        problems += [*self._problems(ways, levels), *_gone(ways)]
        retention = self.source.retention(self.request.task)
        if retention.warning is not None:
            problems.append(replace(retention.warning, side="source"))
        return problems, MoveForecast(
            levels.delivery,
            deliveries_of(targets),
            levels.consistency,
            consistencies_of(self.source.level, targets),
            consistencies_upto(self.source.level),
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

    def _all_stopped(self, known: Sequence[Route], ways: Sequence[_Way]) -> list[Problem]:
        """Earlier movers have stopped every table, and nobody has asked for one of them again."""
        if ways or not known:
            return []
        task = self.request.task
        if any(str(route.source) in self._asked_again() for route in known):
            return []
        reason = next(iter(self.target.progress.stopped(task).values()))
        return [Problem(Severity.PREVENTS, all_stopped(task, reason), start_over(self.endpoints[0], task))]

    def _asked_again(self) -> set[str]:
        """The tables that are to be copied again."""
        try:
            return self.target.restarts.requested(self.request.task)
        except EndpointError as error:
            if error.transient:
                raise
            return set()  # tables of an older layout

    def _known_routes(self, problems: list[Problem]) -> list[Route]:
        """The routes of all entries that are right."""
        try:
            self._refuse_unfit()
        except TieoutError as error:
            problems.append(as_problem(error, Severity.PREVENTS))
            return []
        found, told = routes_of_right_entries(self.endpoints, self.request)
        problems += told
        return found

    def _ways(self, found: Sequence[Route]) -> list[_Way]:
        """The routes with what exists at both ends, without tables that were stopped."""
        # In this order: what is left of a killed mover may still write rows, and then record that it did.
        filled = self.target.tables_with_rows([route.target for route in found if route.exists])
        planned, copied, stopped = self._kept([route.source for route in found])
        found = [route for route in found if str(route.source) not in stopped]
        tasks = (self.request.task, joining_task(self.request.task)) if self.target.is_prepared() else ()
        made = {name: step for task in tasks for name, step in self.target.progress.made(task).items()}
        has_begun, moved = self._moved()
        tables = self.endpoints[0].describe([route.source for route in found])
        there = {
            table.name: table for table in self.endpoints[1].describe([route.target for route in found if route.exists])
        }
        return [
            _Way(
                route,
                table,
                Destination(
                    route.target,
                    there.get(route.target),
                    # Without transactions, a chunk that was not finished has left rows, too.
                    route.source in (copied if self._is_transactional(there.get(route.target)) else planned),
                    _refers(table),
                ),
                route.target in filled,
                made.get(str(route.source)),
                has_begun and str(route.source) not in moved,
            )
            for route, table in zip(found, tables, strict=True)
        ]

    def _moved(self) -> tuple[bool, Collection[str]]:
        """Whether the task has begun, and with which tables."""
        if not self.target.is_prepared():
            return False, ()
        progress, task = self.target.progress, self.request.task
        return progress.has_begun(task), progress.planned_columns(task)

    def _is_transactional(self, there: Table | None) -> bool:
        return is_transactional(self.target.level_of(there))

    def _kept(self, tables: Sequence[TableName]) -> tuple[set[TableName], set[TableName], set[str]]:
        """The tables that the task has begun to copy, those that have copied rows, and those that it has stopped."""
        if not self.target.is_prepared():
            return set(), set(), set()
        tasks = (self.request.task, joining_task(self.request.task))
        chunks = [chunk for task in tasks for chunk in self.target.chunks.of(task, tables)]
        copied = {chunk.table for chunk in chunks if chunk.held is not None}
        return {chunk.table for chunk in chunks}, copied, set(self.target.progress.stopped(self.request.task))

    def prevented(self, late: Collection[TableName], levels: Levels) -> dict[TableName, str]:
        """Returns which of the tables that are about to join the task can't, and why. `levels`: the task's."""
        ways = self._ways(routes(*self.endpoints, self.request))
        return {
            way.table.name: problem.message
            for way, problem in self._of_tables(ways, levels)
            if way is not None and way.table.name in late and problem.severity is Severity.PREVENTS
        }

    def _problems(self, ways: Sequence[_Way], levels: Levels) -> list[Problem]:
        found = [
            problem if way is None else self._alone(way, problem) for way, problem in self._of_tables(ways, levels)
        ]
        return [*self._of_task(ways), *found, *self._unlike(ways), *self._redefined(ways), *self._of_throttle()]

    def _of_task(self, ways: Sequence[_Way]) -> Iterator[Problem]:
        """What suggests that the source or the target is another one than the task's."""
        task, prepared = self.request.task, self.target.is_prepared()
        if not (prepared and self.target.progress.is_known(task)) and self.source.retention(task).kept is not None:
            message = f"it keeps its log for a task named {task} already, which this target does not know"
            yield Problem(
                Severity.PREVENTS,
                f"{message}: a mover to another target, or of another database of the server, may need it",
                f"give this task another name; or, if nobody needs that log any more: tieout task drop {task}",
                "source",
            )
        if not self.endpoints[0].capabilities.rows:
            return  # a feed whose files are others is noticed as such
        has_begun, moved = self._moved()
        left = set(moved) - (self.target.progress.stopped(task).keys() if has_begun else set())
        if left and left.isdisjoint(str(way.route.source) for way in ways):
            yield Problem(
                Severity.PREVENTS,
                f"none of the tables is there that the task moves ({', '.join(sorted(left)[:_NAMED])}): they were "
                "dropped, renamed, left out or hidden from the user, or this is another database",
                f"correct the source's URL; or, if they are gone for good: tieout task drop {task}",
                "source",
            )

    def _alone(self, way: _Way, problem: Problem) -> Problem:
        """The mover stops a table that joins or can't be moved any more: it does not keep the others from it."""
        if problem.severity is not Severity.PREVENTS:
            return problem
        if way.late or (way.destination.has_task_rows and self.source.refuses(way.table) == problem.message):
            return replace(problem, severity=Severity.NOTE, message=f"{problem.message}: the mover stops it")
        return problem

    def _of_tables(self, ways: Sequence[_Way], levels: Levels) -> Iterator[tuple[_Way | None, Problem]]:
        """Each problem and the table that has it; None: others have it, too."""
        sources = {str(way.table.name): way for way in ways}
        for problem in self.source.problems(self.request.task, [way.table for way in ways]):
            yield sources.get(problem.table or ""), replace(problem, side="source")
        # Of tables that are merged, one that has begun: its problems are everybody's.
        targets = {str(way.route.target): way for way in sorted(ways, key=lambda way: not way.late)}
        for problem in self.target.problems([way.destination for way in ways]):
            yield targets.get(problem.table or ""), replace(problem, side="target")
        merged = merged_targets([way.route for way in ways])
        for way in ways:
            yield from ((way, problem) for problem in self._misfits(way, merged))
        for way in ways:
            yield from ((way, problem) for problem in self._of_levels(way, levels))

    def _redefined(self, ways: Sequence[_Way]) -> Iterator[Problem]:
        """Tables whose rows were copied by another definition, unless they are about to be copied again."""
        task = self.request.task
        begun = [way for way in ways if way.destination.has_task_rows]
        stored = self.target.progress.definitions(task) if begun else {}
        again = self._asked_again() if stored else set()
        joining = self.target.progress.definitions(joining_task(task)) if stored else {}
        for way in begun:
            name = str(way.table.name)
            if name in again and name not in joining:
                continue
            shared = any(other is not way and other.route.target == way.route.target for other in ways)
            alone = name not in joining and not shared and not tells_tables_apart(way.route.request)
            if (found := redefined(way.route, {**stored, **joining}, task, alone=alone)) is not None:
                yield Problem(Severity.PREVENTS, *found, "target", name)

    def _of_throttle(self) -> Iterator[Problem]:
        """A limit that can't be measured would never throttle the mover, and its user would not know."""
        options = self.request.options
        for limit, problem in (
            (options.max_load, self.target.load_problem),
            (options.max_replica_lag, self.target.lag_problem),
        ):
            if limit is not None and (found := problem()) is not None:
                yield replace(found, side="target")

    def _misfits(self, way: _Way, merged: Collection[TableName]) -> Iterator[Problem]:
        """What does not fit. Skips tables that were begun: they fitted then, and a mover follows later changes."""
        name, there = str(way.table.name), way.destination.there
        if way.destination.has_task_rows:
            return
        shared = self._is_shared(way)
        if shared and not self._is_transactional(there):
            message = "several tables can't be merged into it: it has no transactions, and is emptied if a copy fails"
            yield Problem(Severity.PREVENTS, message, "give it a storage engine with transactions", "target", name)
        if way.filled and not shared:
            message = "it already has rows, which do not belong to this task"
            fix = f"TRUNCATE TABLE {way.route.target}, or drop it and let Tieout create it"
            yield Problem(Severity.PREVENTS, message, fix, "target", str(way.route.target))
        try:
            if there is not None:
                self._fitted(way, there)
                return
            selection = created_columns(way.route, way.table, merged)
            creator = TableCreator(self.source, self.target, Fence(self.request.task, 0), self._same_engine)
            if (reason := creator.why_not(way.table, selection)) is not None:
                yield Problem(Severity.PREVENTS, reason, CREATE_IT, "target", name)
        except TieoutError as error:
            yield as_problem(error, Severity.PREVENTS, "target", name)

    def _unlike(self, ways: Sequence[_Way]) -> Iterator[Problem]:
        """Tables that need different columns in a table that they all go to, and that the task has to create."""
        missing = [way for way in ways if way.destination.there is None and not way.destination.has_task_rows]
        routes = [way.route for way in missing]
        merged = merged_targets(routes)
        try:
            wanted = [(way.table, created_columns(way.route, way.table, merged)) for way in missing]
        except TieoutError:
            return  # _misfits reports it
        try:
            refuse_unlike(routes, wanted)
        except TieoutError as error:
            yield as_problem(error, Severity.PREVENTS, "target")

    def _fitted(self, way: _Way, there: Table) -> Transfer:
        return transfer_of(
            way.route.request,
            way.table,
            as_made(there, way.table, way.step, key_of_created(way.route.request, way.table)),
            same_engine=self._same_engine,
            logs_generated_columns=self.source.logs_generated_columns,
        )

    def _is_shared(self, way: _Way) -> bool:
        """Whether rows of other tables may be there: the key says which rows belong to which."""
        try:
            shape = way.destination.there and self._fitted(way, way.destination.there).shape
        except TieoutError:
            return False  # _misfits reports what is wrong with it
        return bool(shape and shape.shared)

    def _of_levels(self, way: _Way, levels: Levels) -> Iterator[Problem]:
        promise, name = self._promise(way, levels), str(way.table.name)
        if promise.refused is not None:
            yield Problem(Severity.PREVENTS, promise.refused, self._stronger_than_given(way, levels), table=name)
        elif not way.table.key and levels.delivery is Delivery.AT_LEAST_ONCE:
            message = "it has no key: if the mover is killed, the last batch of changes may arrive twice"
            is_given = Delivery.EXACTLY_ONCE in deliveries_of([self._target_level(way)])
            fix = "delivery: exactly-once, or add a primary key" if is_given else "add a primary key"
            yield Problem(Severity.NOTE, message, fix, table=name)
        elif not self._is_transactional(way.destination.there) and (change := self.source.whole_rows(way.table)):
            message = "its log leaves out large values that an UPDATE keeps, and the target has no transactions"
            yield Problem(Severity.NOTE, f"{message}: such an UPDATE stops the table", change, table=name)
        yield from self._of_functions(way)

    @staticmethod
    def _of_functions(way: _Way) -> Iterator[Problem]:
        """Expressions whose values no verification can compute again."""
        request = way.route.request
        texts = [text for text, _ in request.expressions.values()]
        for text in [*texts, *([where] if (where := condition_of(request)) else [])]:
            with suppress(UsageError):  # another problem says what is wrong with it
                if part := nondeterministic_part(text):
                    message = f"{text!r}: {part} returns something else each time, so that it can't be verified"
                    yield Problem(Severity.NOTE, message, "compute it on the source", table=str(way.table.name))

    def _stronger_than_given(self, way: _Way, levels: Levels) -> str:
        """What to write instead."""
        target = self._target_level(way)
        deliveries, given = deliveries_of([target]), consistencies_of(self.source.level, [target])
        if levels.delivery not in deliveries:
            return f"delivery: {deliveries[-1]}, or leave `delivery` out"
        return f"consistency: {given[-1]}, or leave `consistency` out"

    def _promise(self, way: _Way, levels: Levels) -> Promise:
        target, keyed = self._target_level(way), bool(way.table.key)
        return promise_of(levels.delivery, levels.consistency, self.source.level, target, keyed=keyed)

    def _forecast(self, way: _Way, levels: Levels) -> MoveTableForecast:
        promise = self._promise(way, levels)
        return MoveTableForecast(
            str(way.route.source),
            str(way.route.target),
            way.state,
            way.table.key,
            levels_upto(self._target_level(way), keyed=bool(way.table.key)),
            promise.level,
            promise.refused or promise.words,
        )

    @property
    def _same_engine(self) -> bool:
        return self.endpoints[0].capabilities.family == self.endpoints[1].capabilities.family


def _gone(ways: Sequence[_Way]) -> Iterator[Problem]:
    """Tables that are gone, in the words of a mover, which has an error of its own for them."""
    for way in ways:
        if way.destination.has_task_rows and way.destination.there is None:
            message, fix = lost_table(way.route)
            yield Problem(Severity.PREVENTS, message, fix, "target", str(way.route.source))


def _refers(table: Table) -> bool:
    return any(constraint.kind == "foreign key" for constraint in table.constraints)


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
            problems, move = MovePreflight(request, (left, right), source, target).examine_all()
        return replace(with_problems(found, problems), move=move)

    return examine(urls, meta, open_endpoint, look)


def _reached(open_it: Callable[[], T], side: str, problems: list[Problem]) -> T | None:
    try:
        return open_it()
    except TieoutError as error:
        problems.append(as_problem(error, Severity.PREVENTS, side))
        return None
