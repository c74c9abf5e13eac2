"""What prevents single tables of a move, or is worth knowing of them: their fit, their definition, their levels."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from tieout.errors import TieoutError, UsageError
from tieout.model.levels import Levels, Promise, consistencies_of, deliveries_of, promise_of
from tieout.model.moves import Delivery, Fence, Transfer, joining_task
from tieout.model.preflight import Problem, Severity
from tieout.model.tables import Table, TableName
from tieout.move.create_tables import CREATE_IT, TableCreator, lost_table, refuse_unlike
from tieout.move.plan import as_made, redefined, rerouted
from tieout.move.ways import Way, Ways
from tieout.tasks.created import key_of_created
from tieout.tasks.preflight import as_problem
from tieout.tasks.routing import created_columns, merged_targets, transfer_of
from tieout.tasks.transforms import condition_of, nondeterministic_part, tells_tables_apart


@dataclass(frozen=True)
class TableProblems:
    """The problems of the tables of a task."""

    at: Ways

    def of(self, ways: Sequence[Way], levels: Levels) -> list[Problem]:
        """All of them, with the severity that they have for the task."""
        found = [problem if way is None else self._alone(way, problem) for way, problem in self.each(ways, levels)]
        return [*found, *self._unlike(ways), *self._rerouted(ways), *self._redefined(ways)]

    def _alone(self, way: Way, problem: Problem) -> Problem:
        """The mover stops a table that joins or can't be moved any more: it does not keep the others from it."""
        if problem.severity is not Severity.PREVENTS:
            return problem
        if way.late or (way.destination.has_task_rows and self.at.source.refuses(way.table) == problem.message):
            return replace(problem, severity=Severity.NOTE, message=f"{problem.message}: the mover stops it")
        return problem

    def each(self, ways: Sequence[Way], levels: Levels) -> Iterator[tuple[Way | None, Problem]]:
        """Each problem and the table that has it; None: others have it, too."""
        sources = {str(way.table.name): way for way in ways}
        for problem in self.at.source.problems(self.at.request.task, [way.table for way in ways]):
            yield sources.get(problem.table or ""), replace(problem, side="source")
        # Of tables that are merged, one that has begun: its problems are everybody's.
        targets = {str(way.route.target): way for way in sorted(ways, key=lambda way: not way.late)}
        for problem in self.at.target.problems([way.destination for way in ways]):
            yield targets.get(problem.table or ""), replace(problem, side="target")
        merged = merged_targets([way.route for way in ways])
        for way in ways:
            yield from ((way, problem) for problem in self._misfits(way, merged))
        for way in ways:
            yield from ((way, problem) for problem in self._of_levels(way, levels))

    def _rerouted(self, ways: Sequence[Way]) -> Iterator[Problem]:
        """Tables whose rows went to another target table."""
        for way in ways:
            if (found := self._other_target(way)) is not None:
                yield Problem(Severity.PREVENTS, *found, "target", str(way.table.name))

    def _other_target(self, way: Way) -> tuple[str, str] | None:
        if not way.destination.has_task_rows and way.step is None:
            return None
        return rerouted(way.route, self._targets, self.at.endpoints[1], self.at.request.task)

    @cached_property
    def _targets(self) -> dict[str, str]:
        """Where the rows of the task's tables went, and of those that join."""
        progress, task = self.at.target.progress, self.at.request.task
        return {**progress.targets(task), **progress.targets(joining_task(task))}

    def _redefined(self, ways: Sequence[Way]) -> Iterator[Problem]:
        """Tables whose rows were copied by another definition, unless they are about to be copied again."""
        task = self.at.request.task
        begun = [way for way in ways if way.destination.has_task_rows and self._other_target(way) is None]
        stored = self.at.target.progress.definitions(task) if begun else {}
        again = self.at.asked_again() if stored else set()
        joining = self.at.target.progress.definitions(joining_task(task)) if stored else {}
        for way in begun:
            name = str(way.table.name)
            if name in again and name not in joining:
                continue
            shared = any(other is not way and other.route.target == way.route.target for other in ways)
            alone = name not in joining and not shared and not tells_tables_apart(way.route.request)
            columns = way.table.column_names
            if (found := redefined(way.route, {**stored, **joining}, task, columns, alone=alone)) is not None:
                yield Problem(Severity.PREVENTS, *found, "target", name)

    def _misfits(self, way: Way, merged: Collection[TableName]) -> Iterator[Problem]:
        """What does not fit. Skips tables that were begun: they fitted then, and a mover follows later changes."""
        name, there = str(way.table.name), way.destination.there
        if way.destination.has_task_rows:
            return
        shared = self._is_shared(way)
        if shared and not self.at.is_transactional(there):
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
            creator = TableCreator(self.at.source, self.at.target, Fence(self.at.request.task, 0), self.at.same_engine)
            if (reason := creator.why_not(way.table, selection)) is not None:
                yield Problem(Severity.PREVENTS, reason, CREATE_IT, "target", name)
        except TieoutError as error:
            yield as_problem(error, Severity.PREVENTS, "target", name)

    def _unlike(self, ways: Sequence[Way]) -> Iterator[Problem]:
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

    def _fitted(self, way: Way, there: Table) -> Transfer:
        return transfer_of(
            way.route.request,
            way.table,
            as_made(there, way.table, way.step, key_of_created(way.route.request, way.table)),
            same_engine=self.at.same_engine,
            logs_generated_columns=self.at.source.logs_generated_columns,
        )

    def _is_shared(self, way: Way) -> bool:
        """Whether rows of other tables may be there: the key says which rows belong to which."""
        try:
            shape = way.destination.there and self._fitted(way, way.destination.there).shape
        except TieoutError:
            return False  # _misfits reports what is wrong with it
        return bool(shape and shape.shared)

    def _of_levels(self, way: Way, levels: Levels) -> Iterator[Problem]:
        promise, name = self.promise(way, levels), str(way.table.name)
        is_transactional = self.at.is_transactional(way.destination.there)
        if promise.refused is not None:
            yield Problem(Severity.PREVENTS, promise.refused, self._stronger_than_given(way, levels), table=name)
        elif not way.table.key and levels.delivery is Delivery.AT_LEAST_ONCE:
            message = "it has no key: if the mover is killed, the last batch of changes may arrive twice"
            is_given = Delivery.EXACTLY_ONCE in deliveries_of([self.at.target_level(way)])
            fix = "delivery: exactly-once, or add a primary key" if is_given else "add a primary key"
            yield Problem(Severity.NOTE, message, fix, table=name)
        elif not is_transactional and (change := self.at.source.whole_rows(way.table)):
            message = "its log leaves out large values that an UPDATE keeps, and the target has no transactions"
            yield Problem(Severity.NOTE, f"{message}: such an UPDATE stops the table", change, table=name)
        yield from self._of_functions(way)

    @staticmethod
    def _of_functions(way: Way) -> Iterator[Problem]:
        """Expressions whose values no verification can compute again."""
        request = way.route.request
        texts = [text for text, _ in request.expressions.values()]
        for text in [*texts, *([where] if (where := condition_of(request)) else [])]:
            with suppress(UsageError):  # another problem says what is wrong with it
                if part := nondeterministic_part(text):
                    message = f"{text!r}: {part} returns something else each time, so that it can't be verified"
                    yield Problem(Severity.NOTE, message, "compute it on the source", table=str(way.table.name))

    def _stronger_than_given(self, way: Way, levels: Levels) -> str:
        """What to write instead."""
        target = self.at.target_level(way)
        deliveries, given = deliveries_of([target]), consistencies_of(self.at.source.level, [target])
        if levels.delivery not in deliveries:
            return f"delivery: {deliveries[-1]}, or leave `delivery` out"
        return f"consistency: {given[-1]}, or leave `consistency` out"

    def promise(self, way: Way, levels: Levels) -> Promise:
        target, keyed = self.at.target_level(way), bool(way.table.key)
        return promise_of(levels.delivery, levels.consistency, self.at.source.level, target, keyed=keyed)

    def gone(self, ways: Sequence[Way]) -> Iterator[Problem]:
        """Tables that are gone, in the words of a mover, which has an error of its own for them."""
        for way in ways:
            lost = way.destination.has_task_rows and way.destination.there is None
            if lost and self._other_target(way) is None:
                message, fix = lost_table(way.route)
                yield Problem(Severity.PREVENTS, message, fix, "target", str(way.route.source))
