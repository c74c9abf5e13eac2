"""The report of a check, as people read it."""

from __future__ import annotations

from datetime import UTC, datetime
from io import StringIO

from tieout.model.check_statements import Family
from tieout.model.failures import CheckReport, CheckResult, Failure, FailureKind, Status
from tieout.report.check import write
from tieout.report.render import OutputFormat


def test_what_can_be_done_is_said_once_for_each_kind() -> None:
    entries = [
        Failure(FailureKind.MISSING_INDEX_ENTRY, "shop", "t", ("v",), index="i", primary_key={"id": str(n)})
        for n in range(3)
    ]
    result = CheckResult(Family.INDEX, "t", "i", Status.FAILURES, rows=9, failures=3)
    report = CheckReport("c-1", "url", "CHECK TABLE t", datetime.now(UTC), 0.1, (result,), tuple(entries))
    stream = StringIO()
    write(report, OutputFormat.TEXT, stream)
    lines = stream.getvalue().splitlines()
    assert (
        lines.count(
            "missing_index_entry: create the entry (the index is rebuilt), or delete the row:"
            " it may be one that should be gone (needs a decision)"
        )
        == 1
    )
    assert "to repair it: tieout repair plan c-1" in lines
