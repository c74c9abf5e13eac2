"""The report of a check, for people and for programs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TextIO
from xml.etree.ElementTree import Element, SubElement

from rich.text import Text

from tieout.errors import UsageError
from tieout.model.constraints import Enforcement
from tieout.model.documents import check_document, failure_document, result_document
from tieout.model.failures import ChangedSpan, CheckReport, CheckResult, CheckVerdict, Failure, Status
from tieout.model.repair_choices import Category, advice_for
from tieout.model.truncated import TruncatedText
from tieout.report.csv import csv_field, csv_line
from tieout.report.json import json_text
from tieout.report.junit import write_suite, xml_text
from tieout.report.listing import FAINT, HEADING, aligned, console_on, write_lines
from tieout.report.printable import one_line, printable
from tieout.report.render import OutputFormat
from tieout.report.values import value_text
from tieout.wording import duration, plural

_VERDICT = {CheckVerdict.CLEAN: "green", CheckVerdict.FAILURES: "bold red", CheckVerdict.UNVERIFIED: "bold yellow"}
_STATUS = {Status.OK: "green", Status.FAILURES: "bold red", Status.NOT_CHECKED: "yellow"}
_NOT_ENFORCED = {
    Enforcement.NOT_VALID: "it is NOT VALID: the engine never checked the rows that existed before it",
    Enforcement.DISABLED: "it is disabled: the engine does not enforce it",
}
_TITLES = ("check", "table", "name", "status", "rows", "failures")


def write(report: CheckReport, format: OutputFormat, stream: TextIO) -> None:
    """Writes the report, last line end included. UsageError for a format that checks don't have."""
    if format is OutputFormat.JSON:
        stream.write(json_text(check_document(report), indent=2) + "\n")
    elif format is OutputFormat.TEXT:
        write_lines(_lines(report), console_on(stream))
    elif format is OutputFormat.JUNIT:
        write_junit(report, stream)
    elif format is OutputFormat.NDJSON:
        write_ndjson(report, stream)
    elif format is OutputFormat.CSV:
        write_csv(report, stream)
    else:
        raise UsageError(f"a check can't be written as {format}", "use --output text, json, ndjson, csv or junit")


def _lines(report: CheckReport) -> Iterator[Text]:
    yield Text(headline(report), _VERDICT[report.verdict])
    yield Text(f"{one_line(report.endpoint)}: {one_line(report.statement)}", FAINT)
    for span in report.changed:
        yield Text(_span_line(span), FAINT)
    if report.checks:
        yield Text()
        yield from aligned([[Text(title, HEADING) for title in _TITLES], *map(_cells, report.checks)], right={4, 5})
    remarks = [f"{title(check)}: {remark}" for check in report.checks for remark in _remarks(check)]
    if remarks:
        yield Text()
    yield from map(Text, remarks)
    if report.failures:
        yield Text()
    for failure in report.failures:
        yield failure_line(failure)
    if report.truncated:
        total = sum(check.failures for check in report.checks)
        yield Text(f"… {len(report.failures):,} of {total:,} failures listed (--limit)")
    yield from _suggestions(report)
    for note in report.notes:
        yield Text(one_line(note))
    yield Text()
    yield Text(f"job {printable(report.job)}; {duration(report.seconds)}", FAINT)


_CATEGORIES = {
    Category.AUTOMATIC: "automatic",
    Category.DECISION: "needs a decision",
    Category.NOT_REPAIRABLE: "not repairable by Tieout",
}


def _suggestions(report: CheckReport) -> Iterator[Text]:
    """What the user can do, once for each kind of failure."""
    advice = {failure.kind: advice_for(failure.kind) for failure in report.failures}
    if advice:
        yield Text()
    for kind, each in advice.items():
        yield Text(f"{kind}: ", FAINT).append(f"{each.suggestion} ({_CATEGORIES[each.category]})")
    if any(each.category is not Category.NOT_REPAIRABLE for each in advice.values()):
        yield Text(f"to repair it: tieout repair plan {printable(report.job)}", FAINT)


def _span_line(span: ChangedSpan) -> str:
    table = printable(span.table)
    if span.whole is not None:
        return f"{table}: all rows, up to {span.upto}: {one_line(span.whole)}"
    what = f"{plural(span.changes, 'change')} of {plural(span.rows, 'row')}"
    return f"{table}: {what} between {span.since} and {span.upto}"


def headline(report: CheckReport) -> str:
    total = len(report.checks)
    skipped = sum(check.status is Status.NOT_CHECKED for check in report.checks)
    rest = f", {skipped:,} of {plural(total, 'check')} not run" if skipped else f" by {plural(total, 'check')}"
    found = sum(check.failures for check in report.checks)
    if not total:
        return f"{report.verdict}: there is nothing to check"
    return f"{report.verdict}: {plural(found, 'failure') if found else 'no failures'} found{rest}"


def _cells(check: CheckResult) -> Sequence[Text]:
    return [
        Text(check.family.value),
        Text(printable(check.table)),
        Text(printable(check.name)) if check.name else Text("-", FAINT),
        Text(check.status.value, _STATUS[check.status]),
        Text("-", FAINT) if check.rows is None else Text(f"{check.rows:,}"),
        Text("-", FAINT) if check.status is Status.NOT_CHECKED else Text(f"{check.failures:,}"),
    ]


def _remarks(check: CheckResult) -> Iterator[str]:
    if check.reason:
        yield one_line(check.reason)
    if check.enforcement in _NOT_ENFORCED:
        yield _NOT_ENFORCED[check.enforcement]


def title(check: CheckResult) -> str:
    return " ".join(filter(None, [check.family.value, printable(check.table), check.name and printable(check.name)]))


def failure_line(failure: Failure) -> Text:
    line = Text(failure.kind.value, "red")
    where = ".".join(filter(None, [failure.table, failure.constraint or failure.index]))
    line.append(f"  {printable(where)}")
    if failure.primary_key is not None:
        line.append(f"  {_values(failure.primary_key)}")
    if failure.place is not None:
        line.append(f"  at {printable(failure.place)}", FAINT)
    line.append(f"  {_values(failure.details)}", FAINT)
    return line


def _values(values: Mapping[str, str | None]) -> str:
    return " ".join(f"{printable(name)}={_value(value)}" for name, value in values.items())


def _value(value: str | None) -> str:
    if value is None or isinstance(value, TruncatedText):
        return value_text(value)
    return one_line(value)


_COLUMNS = (
    "failure", "database", "table", "constraint", "index", "columns", "key_prefix", "primary_key", "details",
    "category", "suggestion", "detected_at", "job",
)  # fmt: skip


def write_ndjson(report: CheckReport, stream: TextIO) -> None:
    """Lines of JSON, each with its `kind`: first `check`, one for each check, then `failure`, and last `report`, the
    document without these lists. A file without it was cut off.
    """
    for check in report.checks:
        stream.write(json_text({"kind": "check", **result_document(check)}) + "\n")
    for failure in report.failures:
        stream.write(json_text({"kind": "failure", **failure_document(failure), "job": report.job}) + "\n")
    whole = check_document(report)
    del whole["checks"], whole["failures"]
    stream.write(json_text({**whole, "kind": "report"}) + "\n")


def write_csv(report: CheckReport, stream: TextIO) -> None:
    """A row for each failure; lists and mappings are JSON in a field."""
    stream.write(csv_line(_COLUMNS))
    for failure in report.failures:
        document = {**failure_document(failure), "job": report.job}
        stream.write(csv_line([_field(document[name]) for name in _COLUMNS]))


def _field(value: object) -> str:
    return csv_field(value if value is None or isinstance(value, str) else json_text(value))


_FIRST = 20
"""How many failures of a check JUnit lists; the other formats list them all."""
_TAG = {Status.FAILURES: "failure", Status.NOT_CHECKED: "error"}


def write_junit(report: CheckReport, stream: TextIO) -> None:
    """A test case for each check. A check that did not run is an error, so that it turns a pipeline red: never
    "skipped", which counts as success.
    """
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
        listed = [failure_line(failure).plain for failure in failures[:_FIRST]] if check.failures else []
        problem = SubElement(case, _TAG[check.status], type=check.status.value, message=xml_text(message))
        problem.text = xml_text("\n".join(listed))
    return case
