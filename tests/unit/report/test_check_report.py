"""The report of a check, in each of its forms."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime
from io import StringIO
from xml.etree import ElementTree

import pytest

from tieout.errors import UsageError
from tieout.model.check_statements import Family
from tieout.model.constraints import Enforcement
from tieout.model.documents import check_document
from tieout.model.failures import CheckReport, CheckResult, Failure, FailureKind, Status
from tieout.report.check import write
from tieout.report.render import OutputFormat


@pytest.mark.parametrize(
    ("enforcement", "remark"),
    [
        (Enforcement.NOT_VALID, "constraint main.t c: it is NOT VALID: the engine never checked the rows"),
        (Enforcement.DISABLED, "constraint main.t c: it is disabled: the engine does not enforce it"),
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


KEY = {"id": "7"}
DETAILS = {"row.a": 'it"s\n,', "row.b": None}
CHECKS = (
    CheckResult(Family.INDEX, "main.t", "i", Status.FAILURES, rows=3, failures=1),
    CheckResult(Family.CONSTRAINT, "main.t", "c", Status.OK, rows=3),
    CheckResult(Family.INDEX, "main.t", "j", Status.NOT_CHECKED, "it is being built"),
)
FAILURE = Failure(
    FailureKind.MISSING_INDEX_ENTRY,
    "x",
    "main.t",
    ("a",),
    "i",
    primary_key=KEY,
    details={"row.a": 'it"s\n,', "row.b": None},
)


def written(form: OutputFormat) -> str:
    report = CheckReport("c-1", "sqlite:///x", "CHECK TABLE t", datetime.now(UTC), 1.0, CHECKS, (FAILURE,))
    text = StringIO()
    write(report, form, text)
    return text.getvalue()


def test_lines_of_json_end_with_the_report() -> None:
    lines = [json.loads(line) for line in written(OutputFormat.NDJSON).splitlines()]
    assert [line["kind"] for line in lines] == ["check", "check", "check", "failure", "report"]
    assert (lines[3]["failure"], lines[3]["primary_key"], lines[3]["job"]) == ("missing_index_entry", KEY, "c-1")
    assert (lines[4]["verdict"], "checks" in lines[4]) == ("failures", False)


def test_csv_has_a_row_for_each_failure() -> None:
    head, row = list(csv.reader(StringIO(written(OutputFormat.CSV))))
    values = dict(zip(head, row, strict=True))
    assert (values["failure"], values["index"], values["constraint"]) == ("missing_index_entry", "i", "\\N")
    assert json.loads(values["primary_key"]) == KEY
    assert json.loads(values["details"]) == DETAILS


def test_in_junit_a_check_that_was_not_made_is_an_error() -> None:
    suite = ElementTree.fromstring(written(OutputFormat.JUNIT).encode())[0]
    assert {name: suite.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "3", "failures": "1", "errors": "1"
    }  # fmt: skip
    cases = {case.get("name"): case for case in suite.findall("testcase")}
    assert "id=7" in str(cases["index main.t i"].findtext("failure"))
    assert list(cases["constraint main.t c"]) == []
    error = cases["index main.t j"].find("error")
    assert error is not None
    assert error.get("message") == "it is being built"


def test_there_is_no_page_of_it() -> None:
    with pytest.raises(UsageError, match="a check can't be written as html"):
        written(OutputFormat.HTML)
