"""What one check comes to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from tieout.model.constraints import ConstraintInfo
from tieout.model.failures import CheckResult, Failure, Status
from tieout.model.statements import Family
from tieout.model.tables import Table


@dataclass(frozen=True)
class Checked:
    """One check, and what it found."""

    result: CheckResult
    failures: tuple[Failure, ...] = ()

    def detected_now(self) -> Checked:
        """The same, whose failures say when they were found: now, unless they say so already."""
        now = datetime.now(UTC)
        return replace(self, failures=tuple(replace(f, detected_at=f.detected_at or now) for f in self.failures))


def constraint_not_checked(constraint: ConstraintInfo, reason: str) -> Checked:
    result = CheckResult(
        Family.CONSTRAINT,
        str(constraint.table.name),
        constraint.name,
        Status.NOT_CHECKED,
        reason,
        enforcement=constraint.enforcement,
    )
    return Checked(result)


def not_checked(family: Family, table: Table, name: str | None, reason: str) -> Checked:
    return Checked(CheckResult(family, str(table.name), name, Status.NOT_CHECKED, reason))
