"""Rounds of CHECK … CHANGED: what is told of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from tieout.cli._support.output import OutputOptions
from tieout.cli.check import Rounds
from tieout.model.check_statements import Family
from tieout.model.failures import CheckReport, CheckResult, Failure, FailureKind, Status
from tieout.report.render import OutputFormat

NOW = datetime(2026, 11, 18, tzinfo=UTC)
FAILURE = Failure(FailureKind.MISSING_INDEX_ENTRY, "shop", "main.orders", index="by_sku", primary_key={"id": "7"})


def report(*failures: Failure, seconds: int = 0) -> CheckReport:
    """A round that found these, so many seconds later."""
    at = NOW + timedelta(seconds=seconds)
    found = tuple(replace(failure, detected_at=at) for failure in failures)
    status = Status.FAILURES if found else Status.OK
    result = CheckResult(Family.INDEX, "main.orders", "by_sku", status, None, 1, len(found))
    return CheckReport("c-1", "sqlite:///shop.db", "CHECK TABLE orders CHANGED", at, 0.1, (result,), found)


def written(*reports: CheckReport) -> list[int]:
    """Which of the rounds are written whole, by their numbers."""
    told: list[CheckReport] = []

    def write(each: CheckReport, output: OutputFormat) -> int:
        told.append(each)
        return each.exit_code

    rounds = Rounds(OutputOptions(output=OutputFormat.TEXT, quiet=True), write)
    for each in reports:
        rounds.add(each)
    return [number for number, each in enumerate(reports) if any(each is one for one in told)]


def test_a_failure_that_is_still_there_is_no_news() -> None:
    assert written(report(FAILURE), report(FAILURE, seconds=10), report(FAILURE, seconds=20)) == [0]


def test_another_failure_is_news_and_so_is_the_end_of_one() -> None:
    other = replace(FAILURE, primary_key={"id": "8"})
    assert written(report(), report(FAILURE), report(FAILURE, other, seconds=10), report(seconds=20)) == [1, 2, 3]
