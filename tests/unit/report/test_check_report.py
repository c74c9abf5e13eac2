"""What is said of constraints in the report of a check."""

from __future__ import annotations

from datetime import UTC, datetime
from io import StringIO

import pytest

from tieout.model.check_documents import check_document
from tieout.model.constraints import Enforcement
from tieout.model.failures import CheckReport, CheckResult, Failure, FailureKind, Status
from tieout.model.statements import Family
from tieout.report.check import write
from tieout.report.render import OutputFormat


@pytest.mark.parametrize(
    ("enforcement", "remark"),
    [
        (Enforcement.NOT_VALID, "constraint main.t c: it is NOT VALID: the engine never asked it of the rows"),
        (Enforcement.DISABLED, "constraint main.t c: it is disabled: the engine holds no row to it"),
    ],
)
def test_a_constraint_that_is_not_enforced_is_said_to_be_so(enforcement: Enforcement, remark: str) -> None:
    check = CheckResult(Family.CONSTRAINT, "main.t", "c", Status.OK, rows=3, enforcement=enforcement)
    report = CheckReport("c-1", "sqlite:///x", "CHECK TABLE t", datetime.now(UTC), 1.0, (check,))
    text = StringIO()
    write(report, OutputFormat.TEXT, text)
    assert remark in text.getvalue()
    assert check_document(report)["checks"][0]["enforcement"] == enforcement.value


def test_a_broken_constraint_goes_by_its_own_name() -> None:
    check = CheckResult(Family.CONSTRAINT, "main.t", "once", Status.FAILURES, failures=1)
    failure = Failure(FailureKind.UNIQUE_VIOLATION, "x", "main.t", ("a",), "sqlite_autoindex_t_1", "once", {"id": "7"})
    report = CheckReport("c-1", "sqlite:///x", "CHECK TABLE t", datetime.now(UTC), 1.0, (check,), (failure,))
    text = StringIO()
    write(report, OutputFormat.TEXT, text)
    assert "unique_violation  main.t.once  id=7" in text.getvalue()
