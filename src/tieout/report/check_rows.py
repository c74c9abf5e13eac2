"""What a check found as lines of JSON, and as CSV: a row for each failure.

The lines of JSON each have their `kind`: first `check`, one for each check, then `failure`, and last `report`, the
document without these lists. A file without it was cut off. In CSV, lists and mappings are JSON in a field.
"""

from __future__ import annotations

from typing import TextIO

from tieout.model.documents import check_document, failure_document, result_document
from tieout.model.failures import CheckReport
from tieout.report.csv import csv_field, csv_line
from tieout.report.json import json_text

_COLUMNS = (
    "failure", "database", "table", "constraint", "index", "columns", "key_prefix", "primary_key", "details",
    "category", "suggestion", "detected_at", "job",
)  # fmt: skip


def write_ndjson(report: CheckReport, stream: TextIO) -> None:
    for check in report.checks:
        stream.write(json_text({"kind": "check", **result_document(check)}) + "\n")
    for failure in report.failures:
        stream.write(json_text({"kind": "failure", **failure_document(failure), "job": report.job}) + "\n")
    whole = check_document(report)
    del whole["checks"], whole["failures"]
    stream.write(json_text({**whole, "kind": "report"}) + "\n")


def write_csv(report: CheckReport, stream: TextIO) -> None:
    stream.write(csv_line(_COLUMNS))
    for failure in report.failures:
        document = {**failure_document(failure), "job": report.job}
        stream.write(csv_line([_field(document[name]) for name in _COLUMNS]))


def _field(value: object) -> str:
    return csv_field(value if value is None or isinstance(value, str) else json_text(value))
