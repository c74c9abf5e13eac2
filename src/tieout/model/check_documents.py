"""The stable JSON shape of what a check found. Values of rows are canonical text or null, never JSON numbers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tieout.model.constraints import Enforcement
from tieout.model.failures import ChangedSpan, CheckReport, CheckResult, Failure, FailureKind, Status
from tieout.model.remedies import remedy
from tieout.model.statements import Family
from tieout.model.truncated import truncated_documents, with_truncated


def check_document(report: CheckReport) -> dict[str, Any]:
    return {
        "kind": "check",
        "verdict": report.verdict.value,
        "job": report.job,
        "endpoint": report.endpoint,
        "statement": report.statement,
        "started_at": report.started_at.isoformat(),
        "seconds": round(report.seconds, 3),
        "changed": [_span_document(span) for span in report.changed],
        "checks": [result_document(check) for check in report.checks],
        "failures": [{**failure_document(failure), "job": report.job} for failure in report.failures],
        "truncated": report.truncated,
        "notes": list(report.notes),
    }


def _span_document(span: ChangedSpan) -> dict[str, Any]:
    return {
        "table": span.table,
        "from": span.since,
        "to": span.upto,
        "changes": span.changes,
        "rows": span.rows,
        "all_rows": span.whole,
    }


def result_document(check: CheckResult) -> dict[str, Any]:
    return {
        "check": check.family.value,
        "table": check.table,
        "name": check.name,
        "status": check.status.value,
        "reason": check.reason,
        "rows_scanned": check.rows,
        "failures": check.failures,
        "evidence": check.evidence,
        "seconds": round(check.seconds, 3),
        "enforcement": None if check.enforcement is None else check.enforcement.value,
        "cut": check.cut,
    }


def result_from(document: Mapping[str, Any]) -> CheckResult:
    """What `result_document` was made of."""
    return CheckResult(
        Family(document["check"]),
        document["table"],
        document["name"],
        Status(document["status"]),
        document["reason"],
        document["rows_scanned"],
        document["failures"],
        document["evidence"],
        document["seconds"],
        None if document["enforcement"] is None else Enforcement(document["enforcement"]),
        document.get("cut", False),
    )


def failure_document(failure: Failure) -> dict[str, Any]:
    advice = remedy(failure)
    document: dict[str, Any] = {
        "failure": failure.kind.value,
        "database": failure.database,
        "table": failure.table,
        "constraint": failure.constraint,
        "index": failure.index,
        "columns": list(failure.columns),
        "key_prefix": failure.place,
        "primary_key": None if failure.primary_key is None else dict(failure.primary_key),
        "details": dict(failure.details),
        "category": advice.category.value,
        "suggestion": advice.suggestion,
        "detected_at": None if failure.detected_at is None else failure.detected_at.isoformat(),
    }
    truncated = {
        "primary_key": truncated_documents(failure.primary_key or {}),
        "details": truncated_documents(failure.details),
    }
    if any(truncated.values()):
        document["truncated_values"] = {name: each for name, each in truncated.items() if each}
    return document


def failure_from(document: Mapping[str, Any]) -> Failure:
    """What a document, perhaps an older one, tells of a failure."""
    detected = document.get("detected_at")
    key, truncated = document["primary_key"], document.get("truncated_values", {})
    return Failure(
        FailureKind(document["failure"]),
        document["database"],
        document["table"],
        tuple(document["columns"]),
        index=document["index"],
        constraint=document["constraint"],
        primary_key=None if key is None else with_truncated(key, truncated.get("primary_key", {})),
        place=document["key_prefix"],
        details=with_truncated(document["details"], truncated.get("details", {})),
        detected_at=None if detected is None else datetime.fromisoformat(detected),
    )
