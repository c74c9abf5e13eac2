"""What every check is given, and what it returns. Executors load this file: it imports no meta store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from tieout.errors import AccessError, BusyError, MissingObjectError, ReadError, UnsupportedError
from tieout.model.check_statements import Family
from tieout.model.constraints import ConstraintInfo
from tieout.model.failures import CheckResult, Failure, Status
from tieout.model.redaction import Redaction
from tieout.model.tables import Table

UNREADABLE = (AccessError, BusyError, MissingObjectError, ReadError, UnsupportedError)
"""Errors that keep Tieout from reading one table; the checks of other tables go on."""


def _nowhere(state: bytes, rows: int, total: int | None) -> None: ...


@dataclass(frozen=True)
class Unit:
    """The checks of one family on one table, which --resume skips once they are done.

    `kept` is how far they were when the job was stopped. `keep` stores how far they are now, and reports the rows done
    and their total. `rest` waits, or raises to stop the job.
    """

    rest: Callable[[float], None]
    kept: bytes | None = None
    keep: Callable[[bytes, int, int | None], None] = _nowhere


@dataclass(frozen=True)
class Checked:
    """One check and the failures that it found. `kept`: it was stored before the job was stopped."""

    result: CheckResult
    failures: tuple[Failure, ...] = ()
    kept: bool = False

    def detected_now(self) -> Checked:
        """The same with the time of detection in each failure: now, unless it has one already."""
        now = datetime.now(UTC)
        return replace(self, failures=tuple(replace(f, detected_at=f.detected_at or now) for f in self.failures))

    def shown(self, redaction: Redaction | None) -> Checked:
        """The same as reports and the store may hold it: without values, if they are redacted."""
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
