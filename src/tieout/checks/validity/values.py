"""The values of a table: one scan, all rules of all columns at once; and what is wrong is looked at twice."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from tieout.checks.checked import Checked, not_checked
from tieout.checks.options import CheckOptions
from tieout.checks.validity.judging import Found, JudgeValues
from tieout.checks.validity.told import Told
from tieout.connectors.protocols.check import Checker
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.connectors.protocols.paths import BrokenValue, Unreadable, ValuePath
from tieout.model.failures import CheckResult, Failure, Status
from tieout.model.statements import Family
from tieout.model.tables import Table
from tieout.runtime.dispatch import deal, slots
from tieout.runtime.recheck import RecheckPolicy, by_identity, recheck
from tieout.spark.work import run_work

VALUES = "values"
"""What the check is called."""


@dataclass
class ValueChecks:
    """`rest` waits so many seconds, or raises to end it all."""

    spark: SparkSession
    checker: Checker
    options: CheckOptions
    rest: Callable[[float], None]

    def run(self, table: Table, key: Sequence[ScanColumn], told: Told) -> Iterator[Checked]:
        """The check; and for each column that some rule can't be asked of, one that was not made.

        It finds nothing that was `told`.
        """
        path = self.checker.value_path(table, key)
        if isinstance(path, Unreadable):
            yield not_checked(Family.VALIDITY, table, VALUES, path.reason)
            return
        started = time.monotonic()
        found, rows, cut = self._certain(path)
        named = [_failure(self.checker.database, table, path, each) for each in found]
        failures = tuple(failure for failure in named if failure not in told)
        result = CheckResult(
            Family.VALIDITY,
            str(table.name),
            VALUES,
            Status.FAILURES if failures else Status.NOT_CHECKED if cut else Status.OK,
            f"stopped at {len(named):,} values that are wrong: there may be more" if cut else None,
            rows,
            len(failures),
            path.evidence,
            time.monotonic() - started,
            cut=cut,
        )
        yield Checked(result, failures)
        for column, reason in path.unjudged:
            yield not_checked(Family.VALIDITY, table, f"{VALUES} of {column}", reason)

    def _certain(self, path: ValuePath) -> tuple[list[BrokenValue], int, bool]:
        """What two looks found wrong; how many rows there are; whether there may be more that is wrong."""
        parts = path.parts(slots(self.spark))
        first = self._judged(path, parts)
        wrong = [part for part, found in zip(parts, first, strict=True) if found.broken]
        rechecked = recheck(
            _suspects(first),
            lambda _: _suspects(self._judged(path, wrong)),
            RecheckPolicy(self.options.recheck_after, times=1),
            self.rest,
        )
        certain = [each for alike in rechecked.certain.values() for each in alike]
        return certain, sum(found.rows for found in first), any(found.cut for found in first)

    def _judged(self, path: ValuePath, parts: Sequence[Any]) -> list[Found]:
        """As many tasks as run at once: each may rest between two pieces."""
        tasks = min(len(parts), slots(self.spark))
        rate = self.options.max_rows_per_second
        pace = None if rate is None else rate / tasks
        hands = deal([JudgeValues(path, part, pace, self.options.pause) for part in parts], tasks)
        outcomes = run_work(self.spark, hands)
        return [outcomes[number % tasks][number // tasks].only() for number in range(len(parts))]


def _suspects(looked: Sequence[Found]) -> dict[tuple[object, ...], tuple[BrokenValue, ...]]:
    return by_identity((each for found in looked for each in found.broken), _identity)


def _identity(broken: BrokenValue) -> tuple[object, ...]:
    """What is wrong at two looks may have another value at each: no rule asks for more than one row."""
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
