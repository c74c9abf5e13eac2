"""What programs read: JSON, lines of JSON, CSV and JUnit."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from io import StringIO
from typing import Any
from xml.etree import ElementTree

from tieout.model.differences import Difference, DifferenceKind, ValuePair
from tieout.model.documents import difference_document, table_document, verification_document
from tieout.model.results import Verdict, VerificationResult
from tieout.report import OutputFormat, render
from tieout.report.csv import csv_field, csv_value
from tieout.report.junit import xml_text


def test_json_is_the_document(different: VerificationResult) -> None:
    assert json.loads(render(different, OutputFormat.JSON)) == verification_document(different)


def test_ndjson_has_tables_then_differences_then_the_summary(different: VerificationResult) -> None:
    lines = [json.loads(line) for line in render(different, OutputFormat.NDJSON).splitlines()]
    assert [line["kind"] for line in lines] == [
        *["table"] * 4,
        "missing",
        "extra",
        "changed",
        "changed",
        "verification",
    ]
    assert lines[0] == {"kind": "table", **table_document(different.tables[0])}
    assert lines[4:8] == [difference_document(difference) for difference in different.differences]
    assert lines[-1]["verdict"] == "different"
    assert lines[-1]["totals"] == {
        "tables": 4, "equal": 1, "different": 2, "unverified": 1,
        "missing": 1, "extra": 2, "changed": 20_110, "listed": 4,
    }  # fmt: skip


def test_csv_has_a_line_for_each_changed_column(different: VerificationResult) -> None:
    result = replace(different, differences=different.differences[:3])
    assert render(result, OutputFormat.CSV) == (
        "table,kind,key,column,source,target,copies\n"
        'shop.orders,missing,"{""id"": ""1234567""}",,,,1\n'
        'shop.orders,extra,"{""id"": ""99"", ""region"": ""eu""}",,,,2\n'
        'shop.orders,changed,"{""id"": ""17""}",qty,10,99,1\n'
    )


def test_csv_tells_null_from_empty_and_from_its_own_sign(different: VerificationResult) -> None:
    values = {"a": ValuePair(None, ""), "b": ValuePair("\\N", "\\\\N"), "c": ValuePair("N", "\\Nx")}
    result = replace(different, differences=(Difference("t", DifferenceKind.CHANGED, {"id": None}, values),))
    rows = list(csv.DictReader(StringIO(render(result, OutputFormat.CSV), newline="")))
    assert [(row["source"], row["target"]) for row in rows] == [("\\N", ""), ("\\\\N", "\\\\\\N"), ("N", "\\Nx")]
    assert {row["column"]: ValuePair(csv_value(row["source"]), csv_value(row["target"])) for row in rows} == values
    assert rows[0]["key"] == '{"id": null}'


def test_csv_quotes_a_lone_carriage_return(different: VerificationResult) -> None:
    values = {"a": ValuePair("one\rtwo", "\r")}
    result = replace(different, differences=(Difference("t", DifferenceKind.CHANGED, {"id": "1"}, values),))
    rows = list(csv.DictReader(StringIO(render(result, OutputFormat.CSV), newline="")))
    assert [(row["source"], row["target"]) for row in rows] == [("one\rtwo", "\r")]


def test_csv_leaves_formulas_exact() -> None:
    assert csv_field("=1+1") == "=1+1"


def test_junit_fails_what_differs_and_errors_what_is_unverified(different: VerificationResult) -> None:
    suite = _suite(different)
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", "2", "1")
    outcomes = [(case.get("name"), [child.tag for child in case]) for case in suite.iter("testcase")]
    assert outcomes == [
        ("shop.orders → public.orders", ["failure"]),
        ("shop.customers", []),
        ("shop.shapes → public.shapes", ["error"]),
        ("shop.audit (only on the source)", ["failure"]),
    ]
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.text is not None
    assert failure.get("message") == "1 missing, 2 extra, 20,110 changed"
    assert "\n  changed  id=17  qty: 10 → 99\n" in failure.text
    assert failure.text.endswith("… 4 of 20,113 differences listed here")
    assert suite.find(".//skipped") is None


def test_junit_tells_only_the_first_differences(different: VerificationResult) -> None:
    many = tuple(Difference("shop.orders", DifferenceKind.MISSING, {"id": str(number)}) for number in range(100))
    failure = _suite(replace(different, differences=many)).find("testcase/failure")
    assert failure is not None
    assert failure.text is not None
    assert failure.text.count("  missing  id=") == 20


def test_xml_has_a_place_for_what_it_cannot_hold() -> None:
    assert xml_text("a\0b\ud800\ufffe\t\n") == "a\ufffdb\ufffd\ufffd\t\n"


def test_junit_of_nothing_compared_is_red(equal: VerificationResult) -> None:
    suite = _suite(replace(equal, verdict=Verdict.UNVERIFIED, tables=(), notes=("no table matched",)))
    assert (suite.get("tests"), suite.get("errors")) == ("1", "1")


def test_junit_of_equal_tables_is_green(equal: VerificationResult) -> None:
    suite = _suite(equal)
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "0", "0")


def _suite(result: VerificationResult) -> ElementTree.Element[Any]:
    suite = ElementTree.fromstring(render(result, OutputFormat.JUNIT).encode()).find("testsuite")
    assert suite is not None
    return suite
