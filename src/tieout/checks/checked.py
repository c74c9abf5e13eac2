"""What one check comes to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from tieout.model.check_statements import Family
from tieout.model.constraints import ConstraintInfo
from tieout.model.failures import CheckResult, Failure, Status
from tieout.model.redaction import Redaction
from tieout.model.tables import Table


@dataclass(frozen=True)
class Checked:
    """One check, and what it found. `kept`: as it was kept from before the job was stopped."""

    result: CheckResult
    failures: tuple[Failure, ...] = ()
    kept: bool = False

    def detected_now(self) -> Checked:
        """The same, whose failures say when they were found: now, unless they say so already."""
        now = datetime.now(UTC)
        return replace(self, failures=tuple(replace(f, detected_at=f.detected_at or now) for f in self.failures))

    def shown(self, redaction: Redaction | None) -> Checked:
        """As it may be listed and kept."""
        if redaction is None:
            return self
        failures = tuple(map(redaction.failure, self.failures))
        return replace(self, result=redaction.result(self.result), failures=failures)


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
