"""What the engine's own checker says of a table, in the form of all other checks."""

from __future__ import annotations

import time

from tieout.checks.checked import Checked
from tieout.checks.options import CheckOptions
from tieout.connectors.protocols.check import Checker
from tieout.connectors.protocols.paths import OwnFinding
from tieout.model.check_statements import Family
from tieout.model.failures import CheckResult, Failure, FailureKind, Status
from tieout.model.tables import Table

OWN = "engine's own checker"
"""What its check is called before it has told its name."""


class EngineCheckerAbsent(Exception):
    """The server does not have its own checker, and nobody asked for it. The message says what to install."""


def own_checked(checker: Checker, table: Table, options: CheckOptions) -> Checked:
    """EngineCheckerAbsent: there is nothing to tell of this table, nor of any other one."""
    started = time.monotonic()
    check = checker.own_check(table, options.engine_seconds)
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


def _failure(database: str, table: Table, finding: OwnFinding) -> Failure:
    return Failure(
        FailureKind.ENGINE_FINDING,
        database,
        str(table.name),
        columns=() if finding.column is None else (finding.column,),
        index=finding.index,
        place=finding.place,
        details={"message": finding.message},
    )
