"""What is wrong with a row that breaks a constraint, by name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from tieout.checks.constraints.looking import Breaker, Values
from tieout.connectors.protocols.paths import Violations
from tieout.model.constraints import ConstraintInfo, ConstraintKind
from tieout.model.failures import Failure, FailureKind

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

    def failures(self, constraint: ConstraintInfo, breakers: Sequence[Breaker]) -> Iterator[Failure]:
        groups: defaultdict[str, list[Breaker]] = defaultdict(list)
        for each in breakers:
            if each.group is not None:
                groups[each.group].append(each)
        for each in sorted(breakers, key=_in_order):
            twins = [twin for twin in groups[each.group] if twin is not each] if each.group is not None else []
            yield self._failure(constraint, each, twins)

    def _failure(self, constraint: ConstraintInfo, breaker: Breaker, twins: Sequence[Breaker]) -> Failure:
        shown = zip(self._violations.values, breaker.values, strict=True)
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
            primary_key=dict(zip(key, breaker.key, strict=True)) if key else None,
            place=self._address_text(breaker.address) if breaker.address else None,
            details=details,
        )

    def _is_about(self, constraint: ConstraintInfo, column: str) -> bool:
        return constraint.index is not None or column in constraint.columns

    def _call(self, constraint: ConstraintInfo, breaker: Breaker) -> str:
        """By its key, unless that is what the rows have in common."""
        if breaker.key and constraint.kind is not ConstraintKind.PRIMARY_KEY:
            key = zip(self._violations.key, breaker.key, strict=True)
            return ", ".join(f"{column.name}={'NULL' if value is None else value}" for column, value in key)
        return self._address_text(breaker.address) if breaker.address else "another row"


def _in_order(breaker: Breaker) -> list[tuple[bool, int, str]]:
    """Numbers by their size, before all else."""
    called: Values = (*breaker.key, *breaker.address)
    return [(not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in (each or "" for each in called)]
