"""What a check found as JUnit XML, a test case for each check.

One that was not made is an error, so that it turns a pipeline red: never "skipped", which counts as success.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TextIO
from xml.etree.ElementTree import Element, SubElement

from tieout.model.failures import CheckReport, CheckResult, Failure, Status
from tieout.report.check import failure_line, headline, title
from tieout.report.junit import write_suite, xml_text
from tieout.report.printable import one_line
from tieout.wording import plural

_FIRST = 20
"""How many failures of a check are told; the other formats have them all."""
_TAG = {Status.FAILURES: "failure", Status.NOT_CHECKED: "error"}


def write(report: CheckReport, stream: TextIO) -> None:
    suite = Element("testsuite", name="tieout check", time=f"{report.seconds:.3f}")
    suite.set("timestamp", report.started_at.isoformat())
    properties = SubElement(suite, "properties")
    for name in ("job", "endpoint", "statement"):
        SubElement(properties, "property", name=name, value=xml_text(one_line(getattr(report, name))))
    failures: dict[tuple[str, str | None], list[Failure]] = defaultdict(list)
    for failure in report.failures:
        for part in {failure.index, failure.constraint, None}:
            failures[failure.table, part].append(failure)
    for check in report.checks:
        suite.append(_case(check, failures[check.table, check.name] or failures[check.table, None]))
    if not report.checks:
        case = SubElement(suite, "testcase", classname="tieout.check", name="check", time="0.000")
        SubElement(case, "error", type="unverified", message=xml_text(headline(report)))
    write_suite(suite, headline(report), stream)


def _case(check: CheckResult, failures: Sequence[Failure]) -> Element:
    case = Element("testcase", classname="tieout.check", name=xml_text(title(check)), time=f"{check.seconds:.3f}")
    if check.status in _TAG:
        message = one_line(check.reason) if check.reason else plural(check.failures, "failure")
        told = [failure_line(failure).plain for failure in failures[:_FIRST]] if check.failures else []
        problem = SubElement(case, _TAG[check.status], type=check.status.value, message=xml_text(message))
        problem.text = xml_text("\n".join(told))
    return case
