"""What one check comes to."""

from __future__ import annotations

from dataclasses import dataclass

from tieout.model.failures import CheckResult, Failure, Status
from tieout.model.statements import Family
from tieout.model.tables import Table


@dataclass(frozen=True)
class Checked:
    """One check, and what it found."""

    result: CheckResult
    failures: tuple[Failure, ...] = ()


def not_checked(family: Family, table: Table, name: str | None, reason: str) -> Checked:
    return Checked(CheckResult(family, str(table.name), name, Status.NOT_CHECKED, reason))
