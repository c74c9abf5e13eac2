"""What a verdict and its exit code are: nothing that was left out is good."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tieout.model.check_statements import Family
from tieout.model.failures import CheckReport, CheckResult, CheckVerdict, Status
from tieout.model.results import Verdict, VerificationResult


@pytest.mark.parametrize(("verdict", "code"), [(Verdict.EQUAL, 0), (Verdict.DIFFERENT, 1), (Verdict.UNVERIFIED, 3)])
def test_only_what_was_compared_and_is_equal_exits_with_0(verdict: Verdict, code: int) -> None:
    result = VerificationResult(verdict, "v-1", "sqlite:///a", "sqlite:///b", datetime.now(UTC), 1.0, ())
    assert result.exit_code == code


@pytest.mark.parametrize(
    ("found", "verdict", "code"),
    [
        ([Status.OK, Status.OK], CheckVerdict.CLEAN, 0),
        ([Status.OK, Status.NOT_CHECKED], CheckVerdict.UNVERIFIED, 3),
        ([Status.NOT_CHECKED], CheckVerdict.UNVERIFIED, 3),
        ([], CheckVerdict.UNVERIFIED, 3),
        ([Status.OK, Status.FAILURES, Status.NOT_CHECKED], CheckVerdict.FAILURES, 1),
    ],
)
def test_a_check_is_clean_only_if_all_of_it_is(found: list[Status], verdict: CheckVerdict, code: int) -> None:
    checks = tuple(CheckResult(Family.INDEX, "main.t", "i", status) for status in found)
    report = CheckReport("c-1", "sqlite:///a", "CHECK TABLE t", datetime.now(UTC), 1.0, checks)
    assert (report.verdict, report.exit_code) == (verdict, code)
