"""Checks the values of a table: one scan applies all rules of all columns; what seems wrong is rechecked.

Executors apply all rules to a part of the table at once. Where the engine fails, they go on in ever smaller parts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from tieout.checks.checked import Checked, not_checked
from tieout.checks.options import CheckOptions
from tieout.connectors.protocols.check import Checker
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.connectors.protocols.paths import BrokenValue, NotCheckable, UnreadableValue, ValuePath
from tieout.model.check_statements import Family
from tieout.model.failures import CheckResult, Failure, FailureKind, Status
from tieout.model.tables import Table
from tieout.rate_limit import RateLimit
from tieout.runtime.dispatch import deal, slots
from tieout.runtime.recheck import RecheckPolicy, by_identity, recheck
from tieout.spark.executor_work import run_work

MOST = 10_000
"""Wrong values listed for a part: a changed expression makes all values wrong."""
MOST_UNREADABLE = 500
"""NotCheckable values listed for a part: finding each takes dozens of statements."""

_FAILING = (FailureKind.INVALID_JSON, FailureKind.WRONG_GENERATED_VALUE)
"""Kinds of failure for a value whose rule raises an error; any other such value can't be read at all."""


@dataclass(frozen=True, slots=True)
class Found:
    """The wrong values of a part. `cut`: there may be more."""

    rows: int
    broken: tuple[BrokenValue, ...]
    cut: bool = False


@dataclass(frozen=True)
class JudgeValues:
    """Checks the values of a part of a table. Waits `pause` seconds between two pieces of it."""

    path: ValuePath
    part: Any
    rows_per_second: float | None = None
    pause: float = 0.0

    def run(self) -> Iterator[Found]:
        limit, rows = RateLimit(self.rows_per_second), 0
        found: list[BrokenValue] = []
        for piece in self.path.pieces(self.part):
            for more, broken in self._judged(piece):
                rows += more
                found += broken
                if len(found) >= MOST or sum(each.error is not None for each in found) >= MOST_UNREADABLE:
                    yield Found(rows, tuple(found[:MOST]), cut=True)
                    return
            limit.reached(rows)
            time.sleep(self.pause)
        yield Found(rows, tuple(found))

    def _judged(self, piece: Any) -> Iterator[tuple[int, Sequence[BrokenValue]]]:
        """Counts of rows with their wrong values, in pieces as large as the engine can read."""
        try:
            yield self._asked(piece)
            return
        except UnreadableValue as error:
            failed = error
        try:
            halves = self.path.halves(piece)
        except UnreadableValue:
            halves = ()  # the engine can't even read the keys
        if halves:
            for half in halves:
                yield from self._judged(half)
        else:
            yield 1, self._one(piece, failed)

    def _asked(self, piece: Any) -> tuple[int, Sequence[BrokenValue]]:
        judged = self.path.count_broken(piece, range(len(self.path.rules)))
        broken = [rule for rule, count in enumerate(judged.broken) if count]
        return judged.rows, self.path.broken(piece, broken) if broken else ()

    def _one(self, piece: Any, failed: UnreadableValue) -> list[BrokenValue]:
        """The wrong values of a row that fails to be read: applies each rule alone.

        A value that can't be read makes every value computed from it fail with the same message: reported once.
        """
        found: list[BrokenValue] = []
        unreadable: set[str] = set()
        for number, rule in enumerate(self.path.rules):
            if rule.column in unreadable:
                continue
            try:
                if self.path.count_broken(piece, [number]).broken[0]:
                    found += self.path.broken(piece, [number])
            except UnreadableValue as error:
                if error.message not in {each.error for each in found}:
                    found.append(self._unreadable(piece, number, error))
                unreadable.add(rule.column)
        return found or [self._unreadable(piece, None, failed)]

    def _unreadable(self, piece: Any, number: int | None, error: UnreadableValue) -> BrokenValue:
        place, key = self.path.row_of(piece)
        rule = None if number is None else self.path.rules[number].kind
        kind = error.kind or (rule if rule in _FAILING else None) or FailureKind.INVALID_VALUE
        return BrokenValue(number, kind, place, key, error=error.message)


VALUES = "values"
"""The name of the check."""


@dataclass
class ValueChecks:
    """`rest` waits, or raises to stop the job."""

    spark: SparkSession
    checker: Checker
    options: CheckOptions
    rest: Callable[[float], None]

    def run(self, table: Table, key: Sequence[ScanColumn], reported: Reported) -> Iterator[Checked]:
        """Checks the values; and returns a `not_checked` for each column with a rule that the engine can't apply.

        Leaves out failures that are `reported` already.
        """
        path = self.checker.value_path(table, key)
        if isinstance(path, NotCheckable):
            yield not_checked(Family.VALIDITY, table, VALUES, path.reason)
            return
        started = time.monotonic()
        found, rows, cut = self._certain(path)
        named = [_failure(self.checker.database, table, path, each) for each in found]
        failures = tuple(failure for failure in named if failure not in reported)
        result = CheckResult(
            Family.VALIDITY,
            str(table.name),
            VALUES,
            Status.FAILURES if failures else Status.NOT_CHECKED if cut else Status.OK,
            f"stopped after {len(named):,} wrong values: there may be more" if cut else None,
            rows,
            len(failures),
            path.evidence,
            time.monotonic() - started,
            cut=cut,
        )
        yield Checked(result, failures)
        for column, reason in path.unchecked_columns:
            yield not_checked(Family.VALIDITY, table, f"{VALUES} of {column}", reason)

    def _certain(self, path: ValuePath) -> tuple[list[BrokenValue], int, bool]:
        """The values that two readings found wrong, the number of rows, and whether there may be more."""
        parts = path.parts(slots(self.spark))
        first = self._judged(path, parts)
        wrong = [part for part, found in zip(parts, first, strict=True) if found.broken]
        suspects = _suspects(first)
        policy = RecheckPolicy(self.options.recheck_after, times=1)
        certain = recheck(suspects, lambda _: _suspects(self._judged(path, wrong)), policy, self.rest).certain
        found = [each for suspect in suspects for each in certain.get(suspect, ())]
        return found, sum(found.rows for found in first), any(found.cut for found in first)

    def _judged(self, path: ValuePath, parts: Sequence[Any]) -> list[Found]:
        """Uses as many tasks as run at once: each may pause between two pieces."""
        tasks = min(len(parts), slots(self.spark))
        rate = self.options.max_rows_per_second
        task_rate = None if rate is None else rate / tasks
        hands = deal([JudgeValues(path, part, task_rate, self.options.pause) for part in parts], tasks)
        outcomes = run_work(self.spark, hands)
        return [outcomes[number % tasks][number // tasks].only() for number in range(len(parts))]


def _suspects(looked: Sequence[Found]) -> dict[tuple[object, ...], tuple[BrokenValue, ...]]:
    return by_identity((each for found in looked for each in found.broken), _identity)


def _identity(broken: BrokenValue) -> tuple[object, ...]:
    """What identifies a wrong value in two readings, though the value may change: each rule is about one row."""
    return broken.rule, broken.place, broken.key, None if broken.place or broken.key else broken.shown


def _failure(database: str, table: Table, path: ValuePath, broken: BrokenValue) -> Failure:
    rule = None if broken.rule is None else path.rules[broken.rule]
    details: dict[str, str | None] = dict(broken.shown)
    if rule is not None:
        details["rule"] = rule.says
    if broken.error is not None:
        details["error"] = broken.error
    return Failure(
        broken.kind,
        database,
        str(table.name),
        columns=() if rule is None else (rule.column,),
        constraint=None if rule is None else rule.constraint,
        primary_key=None if broken.key is None else dict(zip(path.key, broken.key, strict=True)),
        place=broken.place,
        details=details,
    )


@dataclass(frozen=True)
class Reported:
    """Rows that constraint checks have reported, with their constraints.

    A rule for values may also be a constraint, and one fault is reported once: by the constraint, whose name people
    know. Values report what a constraint could not be checked for, or listed only in part.
    """

    rows: frozenset[tuple[object, ...]]

    def __contains__(self, failure: Failure) -> bool:
        return _row(failure) in self.rows


def reported_by(checked: Iterable[Checked]) -> Reported:
    """Leaves out rows without a key or address: they could be any row."""
    found = [failure for each in checked for failure in each.failures]
    return Reported(frozenset(_row(each) for each in found if each.constraint and (each.primary_key or each.place)))


def _row(failure: Failure) -> tuple[object, ...]:
    """The row by its key, or else by its address."""
    key = failure.primary_key
    return failure.constraint, tuple(key.items()) if key else failure.place
