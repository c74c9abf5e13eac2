"""A check that did not reach all that is wrong says so, and is never ok."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tieout.checks.constraints import ConstraintOutcome
from tieout.checks.constraints import _checked as constraint_checked
from tieout.checks.engine_checker import own_checked
from tieout.checks.indexes.checks import Found, IndexChecks
from tieout.checks.indexes.compare import Compared
from tieout.checks.indexes.order import OrderFound
from tieout.checks.options import CheckOptions
from tieout.connectors.protocols.check import IndexInfo
from tieout.connectors.protocols.paths import EngineCheck
from tieout.model.constraints import ConstraintInfo, ConstraintKind
from tieout.model.documents import result_document, result_from
from tieout.model.failures import CheckResult, Status
from tieout.model.tables import Table, TableName

TABLE = Table(TableName("main", "t"), (), ())


def of_index(compared: Compared, order: OrderFound | None = None) -> CheckResult:
    checker: Any = SimpleNamespace(database="shop", address_text=str)
    path = SimpleNamespace(evidence="", coverage_gap=lambda entries: None)
    checks = IndexChecks(None, checker, None, None)  # type: ignore[arg-type]
    index: Any = SimpleNamespace(info=IndexInfo("i", TABLE, ()), path=path)
    return checks._checked(index, Found(compared, order, None, (), "", 0.0)).result


def of_constraint(settled: ConstraintOutcome) -> CheckResult:
    naming: Any = SimpleNamespace(failures=lambda constraint, breaking: [])
    constraint = ConstraintInfo("c", ConstraintKind.CHECK, TABLE, ())
    return constraint_checked(constraint, settled, naming, "", 0.0).result


def of_engine(check: EngineCheck) -> CheckResult:
    checker: Any = SimpleNamespace(database="shop", engine_check=lambda table, seconds: check)
    return own_checked(checker, TABLE, CheckOptions()).result


@pytest.mark.parametrize(
    "result",
    [
        of_index(Compared(cut=True)),
        of_index(Compared(unstable=1)),
        of_index(Compared(), OrderFound(cut=True)),
        of_constraint(ConstraintOutcome(cut=True)),
        of_constraint(ConstraintOutcome(unstable=1)),
        of_constraint(ConstraintOutcome(unlisted=1)),
        of_engine(EngineCheck("integrity_check", "", unchecked="it was not done")),
    ],
)
def test_cut(result: CheckResult) -> None:
    assert (result.status, result.cut) == (Status.NOT_CHECKED, True)
    assert result_from(result_document(result)).cut


@pytest.mark.parametrize(
    "result", [of_index(Compared()), of_constraint(ConstraintOutcome()), of_engine(EngineCheck("integrity_check", ""))]
)
def test_whole(result: CheckResult) -> None:
    assert (result.status, result.cut) == (Status.OK, False)
