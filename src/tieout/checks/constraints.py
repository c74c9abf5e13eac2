"""Checks the constraints of a table: executors ask the engine for rows that violate them, and recheck before a row
counts.

One scan checks all constraints that a row alone decides; each key and each reference has a query of its own.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import SparkSession

from tieout.canonical.decode import decode
from tieout.canonical.fields import PRESENT, Field
from tieout.checks.checked import Checked, constraint_not_checked
from tieout.checks.options import CheckOptions
from tieout.connectors.protocols.check import Checker
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.connectors.protocols.paths import OnlyRows, ViolationQuery, Violations
from tieout.errors import TieoutError
from tieout.model.check_statements import Family
from tieout.model.constraints import ConstraintInfo, ConstraintKind
from tieout.model.failures import CheckResult, Failure, FailureKind, Status
from tieout.model.truncated import LONGEST_IN_FAILURE
from tieout.rate_limit import RateLimit
from tieout.runtime.dispatch import rate_of_a_task, run_dealt
from tieout.runtime.recheck import Rechecked, RecheckPolicy, by_identity, recheck
from tieout.spark.executor_work import Work
from tieout.wording import plural

MOST = 100_000
"""Rows that violate one constraint, listed by one reading: more are counted, not listed."""

Values = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class BreakingRow:
    """A row that violates a constraint. `group` is the value that rows share and should not."""

    address: Values
    key: Values
    values: Values
    group: str | None = None

    @property
    def identity(self) -> Values:
        """What identifies the row in a recheck."""
        return self.key or self.address or self.values


@dataclass
class Seen:
    """What one reading found: for each constraint the rows that violate it. `cut`: constraints with more rows.

    `unlisted` rows violate a constraint by the engine's count, but the engine does not list them.
    """

    rows: int
    breaking: list[list[BreakingRow]]
    cut: set[int] = field(default_factory=set)
    unlisted: int = 0


@dataclass(frozen=True)
class Look:
    """Reads one part of the table for all constraints of a query."""

    violations: Violations
    part: ViolationQuery
    rows_per_second: float | None = None

    def run(self) -> Iterator[Seen]:
        limit = RateLimit(self.rows_per_second)
        rows, suspicious = self.violations.runner.numbers(self.part.probe)
        seen = Seen(rows, [[] for _ in self.violations.constraints])
        if suspicious:
            for batch in self.violations.runner.rows(self.part.listing, self.violations.columns):
                self._add(seen, batch)
            if self.part.sure and not any(seen.breaking):
                seen.unlisted = suspicious
        limit.reached(rows)
        yield seen

    def _add(self, seen: Seen, batch: pa.RecordBatch) -> None:
        asked = self.violations
        fields = [decode(column.kind, array) for column, array in zip(asked.columns, batch.columns, strict=True)]
        address, rest = _split(fields, asked.address)
        key, rest = _split(rest, asked.key)
        values, marks = _split(rest, asked.values)
        for number, constraint in enumerate(asked.constraints):
            alone = constraint.kind.of_row_alone
            rows = np.flatnonzero(_truths(marks[number])) if alone else np.arange(batch.num_rows)
            listed = seen.breaking[number]
            for row in rows[: MOST - len(listed)]:
                group = None if alone or not marks else marks[0].kept(int(row), LONGEST_IN_FAILURE)
                listed.append(BreakingRow(_texts(address, row), _texts(key, row), _texts(values, row), group))
            if len(rows) and len(listed) == MOST:
                seen.cut.add(number)


def _split(fields: list[Field], columns: Sequence[ScanColumn]) -> tuple[list[Field], list[Field]]:
    return fields[: len(columns)], fields[len(columns) :]


def _truths(mark: Field) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = (mark.status == PRESENT) & mark.words().astype(np.bool_)
    return found


def _texts(fields: Sequence[Field], row: np.integer) -> Values:
    """The values as failures hold them: long ones truncated."""
    return tuple(field.kept(int(row), LONGEST_IN_FAILURE) for field in fields)


@dataclass
class ConstraintOutcome:
    """The outcome of one constraint. `unstable` rows violated it on the last recheck only. `cut`: there may be more.

    `unlisted` rows violate it or another constraint of the same query: see Seen. `error` kept it from being checked.
    """

    rows: int = 0
    breaking: list[BreakingRow] = field(default_factory=list)
    unstable: int = 0
    unlisted: int = 0
    cut: bool = False
    error: TieoutError | None = None


_Suspect = tuple[int, int, Values]
"""The index of the query, the number of the constraint in it, and what identifies the rows in a recheck."""

_NOBODY = -1
"""In place of a constraint's number: rows that violate a constraint and that the engine does not list."""


@dataclass
class ConstraintRecheck:
    """`rest` waits, or raises to stop the job."""

    spark: SparkSession
    options: CheckOptions
    rest: Callable[[float], None]

    def run(self, queries: Sequence[Violations]) -> list[list[ConstraintOutcome]]:
        """For each query, the outcomes of its constraints. Two readings in a row must find a row, whatever its
        values.
        """
        last = dict(enumerate(self._look(queries)))
        outcomes = [
            [ConstraintOutcome(seen.rows, cut=number in seen.cut) for number in range(len(seen.breaking))]
            if isinstance(seen, Seen)
            else [ConstraintOutcome(error=seen) for _ in violations.constraints]
            for violations, seen in zip(queries, last.values(), strict=True)
        ]
        wrong = [place for place, seen in last.items() if isinstance(seen, Seen) and _is_wrong(seen)]
        looks = count()

        def look_again(_: Mapping[_Suspect, tuple[BreakingRow, ...]]) -> dict[_Suspect, tuple[BreakingRow, ...]]:
            last.update(zip(wrong, self._look([queries[place] for place in wrong]), strict=True))
            return _suspects({place: last[place] for place in wrong}, next(looks))

        suspects = _suspects({place: last[place] for place in wrong}, next(looks))
        policy = RecheckPolicy(self.options.recheck_after, max(1, self.options.recheck_times), grows=True)
        rechecked = recheck(suspects, look_again, policy, self.rest)
        for place in wrong:
            for number, result in enumerate(outcomes[place]):
                _take(result, place, number, last[place], rechecked)
        return outcomes

    def _look(self, queries: Sequence[Violations]) -> list[Seen | TieoutError]:
        """Runs all queries at once."""
        rate = rate_of_a_task(self.spark, self.options.max_rows_per_second)
        work: list[tuple[int, Work]] = [
            (place, Look(violations, part, rate))
            for place, violations in enumerate(queries)
            for part in violations.parts
        ]
        outcomes = run_dealt(self.spark, [piece for _, piece in work])
        seen: list[Seen | TieoutError] = [Seen(0, [[] for _ in violations.constraints]) for violations in queries]
        for (place, _), outcome in zip(work, outcomes, strict=True):
            total = seen[place]
            if isinstance(total, TieoutError):
                continue
            if outcome.error is not None:
                seen[place] = outcome.error
            else:
                _add(total, outcome.only())
        return seen


def _add(total: Seen, more: Seen) -> None:
    total.rows += more.rows
    total.unlisted += more.unlisted
    total.cut |= more.cut
    for number, (listed, found) in enumerate(zip(total.breaking, more.breaking, strict=True)):
        listed.extend(found[: MOST - len(listed)])
        if len(listed) == MOST:
            total.cut.add(number)


def _is_wrong(seen: Seen) -> bool:
    return any(seen.breaking) or seen.unlisted > 0


def _suspects(readings: Mapping[int, Seen | TieoutError], look: int) -> dict[_Suspect, tuple[BreakingRow, ...]]:
    found: dict[_Suspect, tuple[BreakingRow, ...]] = {}
    for place, seen in readings.items():
        if isinstance(seen, TieoutError):
            continue
        for number, breaking in enumerate(seen.breaking):
            for identity, alike in by_identity(breaking, lambda each: each.identity).items():
                found[place, number, identity] = alike
        if seen.unlisted:  # never the same suspect: a recheck may list them
            found[place, _NOBODY, (str(look),)] = ()
    return found


def _take(
    result: ConstraintOutcome,
    place: int,
    number: int,
    seen: Seen | TieoutError,
    rechecked: Rechecked[_Suspect, tuple[BreakingRow, ...]],
) -> None:
    if isinstance(seen, TieoutError):
        result.error = seen
        return
    certain = {identity for of, which, identity in rechecked.certain if (of, which) == (place, number)}
    result.breaking = [each for each in seen.breaking[number] if each.identity in certain]
    result.unstable = len(seen.breaking[number]) - len(result.breaking)
    result.unlisted = seen.unlisted
    result.cut = number in seen.cut


_KINDS = {
    ConstraintKind.CHECK: FailureKind.CHECK_VIOLATION,
    ConstraintKind.NOT_NULL: FailureKind.NOT_NULL_VIOLATION,
    ConstraintKind.PRIMARY_KEY: FailureKind.PRIMARY_KEY_VIOLATION,
    ConstraintKind.UNIQUE: FailureKind.UNIQUE_VIOLATION,
    ConstraintKind.FOREIGN_KEY: FailureKind.FOREIGN_KEY_VIOLATION,
}
_NAMED_TWINS = 5

AddressText = Callable[[Sequence[str | None]], str]


class Naming:
    """Makes one failure for each row. For rows that should be unique, each names the others in its details."""

    def __init__(self, database: str, violations: Violations, address_text: AddressText) -> None:
        self._database = database
        self._violations = violations
        self._address_text = address_text

    def failures(self, constraint: ConstraintInfo, breaking: Sequence[BreakingRow]) -> Iterator[Failure]:
        groups: defaultdict[str, list[BreakingRow]] = defaultdict(list)
        for each in breaking:
            if each.group is not None:
                groups[each.group].append(each)
        for each in sorted(breaking, key=_in_order):
            twins = [twin for twin in groups[each.group] if twin is not each] if each.group is not None else []
            yield self._failure(constraint, each, twins)

    def _failure(self, constraint: ConstraintInfo, row: BreakingRow, twins: Sequence[BreakingRow]) -> Failure:
        shown = zip(self._violations.values, row.values, strict=True)
        details = {column.name: value for column, value in shown if self._is_about(constraint, column.name)}
        if twins:
            named = [self._call(constraint, twin) for twin in sorted(twins, key=_in_order)[:_NAMED_TWINS]]
            more = len(twins) - len(named)
            details["same_as"] = "; ".join([*named, f"{more:,} more"] if more else named)
        if constraint.reference is not None:
            details["refers_to"] = f"{constraint.reference.parent} ({', '.join(constraint.reference.columns)})"
        key = [column.name for column in self._violations.key]
        return Failure(
            _KINDS[constraint.kind],
            self._database,
            str(constraint.table.name),
            constraint.columns,
            index=constraint.index,
            constraint=constraint.name,
            primary_key=dict(zip(key, row.key, strict=True)) if key else None,
            place=self._address_text(row.address) if row.address else None,
            details=details,
        )

    def _is_about(self, constraint: ConstraintInfo, column: str) -> bool:
        return constraint.index is not None or column in constraint.columns

    def _call(self, constraint: ConstraintInfo, row: BreakingRow) -> str:
        """The row's key, unless that is what the rows share; then its address."""
        if row.key and constraint.kind is not ConstraintKind.PRIMARY_KEY:
            key = zip(self._violations.key, row.key, strict=True)
            return ", ".join(f"{column.name}={'NULL' if value is None else value}" for column, value in key)
        return self._address_text(row.address) if row.address else "another row"


def _in_order(row: BreakingRow) -> list[tuple[bool, int, str]]:
    """Sorts numbers by their size, before all other text."""
    called: Values = (*row.key, *row.address)
    return [(not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in (each or "" for each in called)]


@dataclass
class ConstraintChecks:
    """`rest` waits, or raises to stop the job."""

    spark: SparkSession
    checker: Checker
    options: CheckOptions
    rest: Callable[[float], None]

    def run(self, constraints: Sequence[ConstraintInfo], only: OnlyRows | None = None) -> Iterator[Checked]:
        """Checks constraints of one table, in their order. `only`: for some of its rows."""
        checked = [constraint_not_checked(each, each.unchecked) for each in constraints if each.unchecked]
        asked = [each for each in constraints if not each.unchecked]
        checked += self._asked(_together(asked), only)
        order = {constraint.name: place for place, constraint in enumerate(constraints)}
        yield from sorted(checked, key=lambda each: order[str(each.result.name)])

    def _asked(self, groups: Sequence[Sequence[ConstraintInfo]], only: OnlyRows | None) -> list[Checked]:
        checked: list[Checked] = []
        alone: list[list[ConstraintInfo]] = []
        askable: list[Violations] = []
        for group in groups:
            found = self.checker.violations(group, only)
            if isinstance(found, Violations):
                askable.append(found)
            elif len(group) > 1:
                alone += [[each] for each in group]
            else:
                checked.append(constraint_not_checked(group[0], found.reason))
        started = time.monotonic()
        outcome = ConstraintRecheck(self.spark, self.options, self.rest).run(askable)
        seconds = time.monotonic() - started
        for violations, results in zip(askable, outcome, strict=True):
            if results[0].error is not None and len(results) > 1:
                # One expression that fails says nothing about the others: each gets a query of its own.
                alone += [[each] for each in violations.constraints]
                continue
            naming = Naming(self.checker.database, violations, self.checker.address_text)
            for constraint, result in zip(violations.constraints, results, strict=True):
                checked.append(_checked(constraint, result, naming, violations.evidence, seconds))
        return checked + (self._asked(alone, only) if alone else [])


def _together(constraints: Sequence[ConstraintInfo]) -> list[list[ConstraintInfo]]:
    alone = [constraint for constraint in constraints if constraint.kind.of_row_alone]
    others = [[constraint] for constraint in constraints if not constraint.kind.of_row_alone]
    return [alone, *others] if alone else others


def _checked(
    constraint: ConstraintInfo, outcome: ConstraintOutcome, naming: Naming, evidence: str, seconds: float
) -> Checked:
    if outcome.error is not None:
        return constraint_not_checked(constraint, str(outcome.error))
    failures = tuple(naming.failures(constraint, outcome.breaking))
    reason = _reason(outcome)
    result = CheckResult(
        Family.CONSTRAINT,
        str(constraint.table.name),
        constraint.name,
        Status.FAILURES if failures else Status.OK if reason is None else Status.NOT_CHECKED,
        reason,
        outcome.rows,
        len(failures),
        evidence,
        seconds,
        constraint.enforcement,
        cut=reason is not None,
    )
    return Checked(result, failures)


def _reason(outcome: ConstraintOutcome) -> str | None:
    """Why there may be more failures than were found; None if there are not."""
    if outcome.cut:
        return f"listed the first {MOST:,} rows that violate it: there may be more"
    if outcome.unlisted:
        return "the engine counts rows that violate a constraint here, but lists none of them"
    if outcome.unstable:
        return f"{plural(outcome.unstable, 'row')} violated it on the last recheck only (the table is busy)"
    return None
