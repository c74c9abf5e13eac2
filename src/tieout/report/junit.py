"""The result as JUnit XML, a test case for each table.

A table that differs is a failure, with its first differences; one that could not be verified is an error, so that
it turns a pipeline red: never "skipped", which counts as success.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TextIO
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from tieout.model.differences import Difference
from tieout.model.results import TableResult, Verdict, VerificationResult
from tieout.report.printable import one_line
from tieout.report.text import colophon, counts_text, difference_lines, headline, table_remarks, table_title

FIRST_DIFFERENCES = 20
"""How many differences of a table are listed; the other formats list them all."""

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAG = {Verdict.DIFFERENT: "failure", Verdict.UNVERIFIED: "error"}


def write(result: VerificationResult, stream: TextIO) -> None:
    write_suite(_suite(result), "\n".join((headline(result), colophon(result))), stream)


def write_suite(suite: Element, summary: str, stream: TextIO) -> None:
    """Writes a suite of cases and adds their counts."""
    for counted, path in (("tests", "testcase"), ("failures", "testcase/failure"), ("errors", "testcase/error")):
        suite.set(counted, str(len(suite.findall(path))))
    SubElement(suite, "system-out").text = xml_text(summary)
    root = Element("testsuites", {name: suite.attrib[name] for name in ("name", "tests", "failures", "errors", "time")})
    root.append(suite)
    ElementTree.indent(root)
    stream.write('<?xml version="1.0" encoding="utf-8"?>\n')
    stream.write(ElementTree.tostring(root, encoding="unicode") + "\n")


def _suite(result: VerificationResult) -> Element:
    suite = Element("testsuite", name="tieout verify", time=f"{result.seconds:.3f}")
    suite.set("timestamp", result.started_at.isoformat())
    properties = SubElement(suite, "properties")
    for name in ("job", "source", "target"):
        SubElement(properties, "property", name=name, value=xml_text(one_line(getattr(result, name))))
    differences = _first_differences(result)
    for table in result.tables:
        suite.append(_case(table, differences.get(table.table, [])))
    # A verdict that no table shows (nothing was compared, say) would be a green suite.
    if result.verdict in _TAG and suite.find(f"testcase/{_TAG[result.verdict]}") is None:
        case = SubElement(suite, "testcase", classname="tieout.verify", name="verification", time="0.000")
        _problem(case, result.verdict, headline(result), "\n".join(map(one_line, result.notes)))
    return suite


def _case(table: TableResult, differences: list[Difference]) -> Element:
    case = Element(
        "testcase", classname="tieout.verify", name=xml_text(table_title(table)), time=f"{table.seconds:.3f}"
    )
    if table.verdict in _TAG:
        message = one_line(table.reason) if table.reason else counts_text(table.differences)
        body = "\n".join([*(line.plain for line in table_remarks(table)), *_listed(table, differences)])
        _problem(case, table.verdict, message or table.verdict.value, body)
    return case


def _problem(case: Element, verdict: Verdict, message: str, body: str) -> None:
    SubElement(case, _TAG[verdict], type=verdict.value, message=xml_text(message)).text = xml_text(body)


def _listed(table: TableResult, differences: list[Difference]) -> Iterator[str]:
    for difference in differences:
        yield from (line.plain for line in difference_lines(difference, None))
    if table.differences.total > len(differences):
        yield f"… {len(differences):,} of {table.differences.total:,} differences listed here"


def _first_differences(result: VerificationResult) -> dict[str, list[Difference]]:
    first: dict[str, list[Difference]] = {}
    for difference in result.differences:
        of_table = first.setdefault(difference.table, [])
        if len(of_table) < FIRST_DIFFERENCES:
            of_table.append(difference)
    return first


def xml_text(text: str) -> str:
    """The text, with U+FFFD for each character that XML has no way to write."""
    return _NOT_XML.sub("\ufffd", text)
