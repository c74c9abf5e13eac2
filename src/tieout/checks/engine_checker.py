"""The engine's own checker (amcheck, CHECK TABLE, integrity_check) as a check like all others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tieout.checks.checked import UNREADABLE, Checked, not_checked
from tieout.checks.options import CheckOptions
from tieout.checks.planner import PlannedTable
from tieout.connectors.protocols.check import Checker
from tieout.connectors.protocols.paths import EngineFinding
from tieout.model.check_statements import EngineChecker, Family
from tieout.model.failures import CheckResult, Failure, FailureKind, Status
from tieout.model.tables import Table

OWN = "engine's own checker"
"""The name of its check while the engine has not named it."""


class EngineCheckerAbsent(Exception):
    """The server has no checker of its own, and nobody asked for one. The message says what to install."""


@dataclass
class EngineChecks:
    """Runs the engine's own checker after all other checks: on some engines, it marks what it finds as unreadable.

    `rest` waits, or raises to stop the job. `notes` are what the report says about all tables.
    """

    checker: Checker
    options: CheckOptions
    rest: Callable[[float], None]
    notes: list[str] = field(default_factory=list)

    def run(self, planned: Sequence[PlannedTable]) -> Iterator[Checked]:
        requested = [each for each in planned if Family.VALIDITY in each.families and each.undescribed is None]
        if not requested or self.options.engine_checker == EngineChecker.NONE:
            return
        if self.checker.engine_check_writes is not None and self.options.engine_checker != EngineChecker.EXTENDED:
            self.notes.append(f"{self.checker.engine_check_writes}; --engine-checker=extended asks for it")
            return
        for each in requested:
            self.rest(0)
            try:
                yield own_checked(self.checker, each.table, self.options)
            except EngineCheckerAbsent as absent:
                self.notes.append(f"the engine's own checker did not run: {absent}")
                return
            except UNREADABLE as error:
                yield not_checked(Family.VALIDITY, each.table, OWN, str(error))


def own_checked(checker: Checker, table: Table, options: CheckOptions) -> Checked:
    """Checks one table. Raises EngineCheckerAbsent if the server can't check this table or any other."""
    started = time.monotonic()
    check = checker.engine_check(table, options.engine_seconds)
    if check.absent and options.engine_checker is None:
        raise EngineCheckerAbsent(check.unchecked)
    failures = tuple(_failure(checker.database, table, each) for each in check.findings)
    status = Status.FAILURES if failures else Status.NOT_CHECKED if check.unchecked else Status.OK
    result = CheckResult(
        Family.VALIDITY,
        str(table.name),
        check.name,
        status,
        check.unchecked,
        None,
        len(failures),
        check.statement or None,
        time.monotonic() - started,
        cut=check.unchecked is not None,
    )
    return Checked(result, failures)


def _failure(database: str, table: Table, finding: EngineFinding) -> Failure:
    return Failure(
        FailureKind.ENGINE_FINDING,
        database,
        str(table.name),
        columns=() if finding.column is None else (finding.column,),
        index=finding.index,
        place=finding.place,
        details={"message": finding.message},
    )
