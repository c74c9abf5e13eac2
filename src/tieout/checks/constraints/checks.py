"""The constraints of one table: what is asked of a row alone in one scan, every key and every reference by itself; and
what is wrong with a row that breaks one, by name.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from tieout.checks.checked import Checked, constraint_not_checked
from tieout.checks.constraints.recheck import MOST, BreakingRow, ConstraintOutcome, ConstraintRecheck, Values
from tieout.checks.options import CheckOptions
from tieout.connectors.protocols.check import Checker
from tieout.connectors.protocols.paths import OnlyRows, Violations
from tieout.model.check_statements import Family
from tieout.model.constraints import ConstraintInfo, ConstraintKind
from tieout.model.failures import CheckResult, Failure, FailureKind, Status
from tieout.wording import plural

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
    """One failure for each row: of rows that should be unique, one for each of them, with the others in its details."""

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
        """By its key, unless that is what the rows have in common."""
        if row.key and constraint.kind is not ConstraintKind.PRIMARY_KEY:
            key = zip(self._violations.key, row.key, strict=True)
            return ", ".join(f"{column.name}={'NULL' if value is None else value}" for column, value in key)
        return self._address_text(row.address) if row.address else "another row"


def _in_order(row: BreakingRow) -> list[tuple[bool, int, str]]:
    """Numbers by their size, before all else."""
    called: Values = (*row.key, *row.address)
    return [(not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in (each or "" for each in called)]


@dataclass
class ConstraintChecks:
    """`rest` waits so many seconds, or raises to end it all."""

    spark: SparkSession
    checker: Checker
    options: CheckOptions
    rest: Callable[[float], None]

    def run(self, constraints: Sequence[ConstraintInfo], only: OnlyRows | None = None) -> Iterator[Checked]:
        """In the order of the constraints, which are of one table. With `only`, of some of its rows: see there."""
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
                # One expression that fails says nothing of the others: each is asked by itself.
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
    """Why there may be more to say of a constraint than was found; None: there is not."""
    if outcome.cut:
        return f"looked at {MOST:,} rows that break it: there may be more"
    if outcome.unlisted:
        return "the engine counts rows that break something here, and lists none of them"
    if outcome.unstable:
        return f"{plural(outcome.unstable, 'row')} broke it at the last look and at none before"
    return None
