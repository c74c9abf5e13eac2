"""The stable JSON documents of results: values of rows are canonical text or null, never JSON numbers.

A job stores the document of its request, so that it can run again. The document has no secrets: it has redacted URLs,
and the reader supplies the real ones. A field that an older program did not write gets its default; an unknown field is
an error, since ignoring it would change the request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import datetime
from typing import Any

from tieout.errors import UsageError
from tieout.exit_codes import ExitCode
from tieout.model.check_statements import Family
from tieout.model.constraints import Enforcement
from tieout.model.differences import Difference
from tieout.model.failures import ChangedSpan, CheckReport, CheckResult, Failure, FailureKind, KeptFailure, Status
from tieout.model.finish import finish_document, finish_from
from tieout.model.move_status import DroppedTask, MoveControl, MoveStatus, RestartedTable, RowNotFound, TableMoveStatus
from tieout.model.preflight import EndpointFacts, Forecast, Guarantee, MoveForecast, Preflight, Problem, TableForecast
from tieout.model.repair import CheckRepairSummary, RepairResult, RepairSummary
from tieout.model.repair_choices import advice_on
from tieout.model.requests import Meaning, Narrowing, TableRequest, VerifyOptions, VerifyRequest
from tieout.model.results import TableResult, VerificationResult
from tieout.model.truncated import truncated_documents, with_truncated


def verification_document(result: VerificationResult) -> dict[str, Any]:
    return {
        "kind": "verification",
        "verdict": result.verdict.value,
        "job": result.job,
        "source": result.source,
        "target": result.target,
        "started_at": result.started_at.isoformat(),
        "seconds": round(result.seconds, 3),
        "counts_only": result.counts_only,
        "tables": [table_document(table) for table in result.tables],
        "differences": [difference_document(difference) for difference in result.differences],
        "truncated": result.truncated,
        "notes": list(result.notes),
    }


def table_document(table: TableResult) -> dict[str, Any]:
    counts = table.differences
    return {
        "source_table": table.source_table,
        "target_table": table.target_table,
        "verdict": table.verdict.value,
        "reason": table.reason,
        "strategy": table.strategy.value if table.strategy else None,
        "rows": {"source": table.rows.source, "target": table.rows.target},
        "differences": {"missing": counts.missing, "extra": counts.extra, "changed": counts.changed},
        "unverified_columns": [{"column": c.column, "reason": c.reason} for c in table.unverified_columns],
        "schema": [
            {"aspect": f.aspect, "column": f.column, "message": f.message, "breaks": f.breaks} for f in table.schema
        ],
        "position": {"source": table.source_position, "target": table.target_position},
        "collision_bound": table.collision_bound,
        "seconds": round(table.seconds, 3),
        "notes": list(table.notes),
    }


def difference_document(difference: Difference) -> dict[str, Any]:
    document: dict[str, Any] = {
        "table": difference.table,
        "kind": difference.kind.value,
        "key": dict(difference.key),
        "columns": {name: {"source": v.source, "target": v.target} for name, v in difference.columns.items()},
    }
    if difference.copies != 1:
        document["copies"] = difference.copies
    truncated = _truncated_values(difference)
    if truncated:
        document["truncated_values"] = truncated
    return document


def _truncated_values(difference: Difference) -> dict[str, Any]:
    """Which values are truncated, in the structure of `key` and `columns`."""
    columns = {
        name: truncated_documents({"source": v.source, "target": v.target}) for name, v in difference.columns.items()
    }
    found = {"key": truncated_documents(difference.key), "columns": {n: each for n, each in columns.items() if each}}
    return {name: each for name, each in found.items() if each}


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
    """Reads what `result_document` wrote."""
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
    advice = advice_on(failure)
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
    """Reads a failure from its document, perhaps an older one."""
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


def kept_failure_document(kept: KeptFailure) -> dict[str, object]:
    """What `tieout failures` prints: keys and details are one text each, and times are datetimes."""
    found = failure_document(kept.failure)
    pairs = {name: found.pop(name) or {} for name in ("primary_key", "details")}
    words = {
        name: " ".join(f"{column}={'NULL' if value is None else value}" for column, value in values.items()) or None
        for name, values in pairs.items()
    }
    detected = found.pop("detected_at")
    return {
        "id": kept.id,
        **found,
        "columns": ", ".join(found["columns"]),
        **words,
        "state": kept.state.value,
        "note": kept.note,
        "detected_at": detected or kept.last_seen,
        "first_seen": kept.first_seen,
        "last_seen": kept.last_seen,
        "gone_since": kept.gone_since,
        "job": kept.job_id,
        "endpoint": kept.endpoint,
    }


def move_status_document(status: MoveStatus) -> dict[str, Any]:
    """What `tieout status` and `tieout run` print, and what the meta store keeps."""
    return {
        "kind": "status",
        **asdict(status),
        "tables": [asdict(table) for table in status.tables],
        "remarks": list(status.remarks),
        "chosen": list(status.chosen),
        "updated_at": status.updated_at.isoformat(),
        "finish": None if status.finish is None else finish_document(status.finish),
        "not_found": [asdict(row) for row in status.not_found],
    }


def move_status_from(document: Mapping[str, Any]) -> MoveStatus:
    """What `move_status_document` was made of. An older program wrote fewer fields, a newer one perhaps more."""
    known: dict[str, Any] = {name: document.get(name) for name in MoveStatus.__slots__}
    known["tables"] = tuple(map(_table_status, document["tables"]))
    known["remarks"] = tuple(document["remarks"])
    known["chosen"] = tuple(document.get("chosen", ()))
    known["updated_at"] = datetime.fromisoformat(document["updated_at"])
    known["finish"] = finish_from(finish) if (finish := document.get("finish")) else None
    known["not_found"] = tuple(RowNotFound(**row) for row in document.get("not_found", ()))
    return MoveStatus(**known)


def _table_status(document: Mapping[str, Any]) -> TableMoveStatus:
    return TableMoveStatus(**{name: document[name] for name in TableMoveStatus.__slots__ if name in document})


def control_document(control: MoveControl) -> dict[str, Any]:
    return {"kind": "control", **asdict(control)}


def dropped_document(dropped: DroppedTask) -> dict[str, Any]:
    return {"kind": "dropped task", **asdict(dropped)}


def restarted_document(restarted: RestartedTable) -> dict[str, Any]:
    return {"kind": "restarted table", **asdict(restarted)}


def forecast_document(forecast: Forecast) -> dict[str, Any]:
    return {
        "kind": "plan",
        "source": forecast.source,
        "target": forecast.target,
        "tables": [table_forecast_document(table) for table in forecast.tables],
    }


def preflight_document(preflight: Preflight) -> dict[str, Any]:
    return {
        "kind": "preflight",
        "ready": preflight.exit_code is not ExitCode.FAILED,
        "source": _endpoint(preflight.source),
        "target": _endpoint(preflight.target),
        "problems": [problem_document(problem) for problem in preflight.problems],
        "tables": [table_forecast_document(table) for table in preflight.tables],
        "move": move_forecast_document(preflight.move) if preflight.move else None,
    }


def move_forecast_document(move: MoveForecast) -> dict[str, Any]:
    return {
        "delivery": move.delivery.value,
        "deliveries": [delivery.value for delivery in move.deliveries],
        "consistency": move.consistency.value,
        "consistencies": [level.value for level in move.consistencies],
        "source_levels": [level.value for level in move.source_levels],
        "chosen": list(move.reasons),
        "log_limit": move.log_limit,
        "log_kept_bytes": move.log_kept_bytes,
        "tables": [
            {
                "source_table": table.source_table,
                "target_table": table.target_table,
                "state": table.state.value,
                "key": list(table.key),
                "target_levels": [level.value for level in table.target_levels],
                "target_level": table.target_level.value,
                "promise": table.promise,
            }
            for table in move.tables
        ],
    }


def problem_document(problem: Problem) -> dict[str, Any]:
    return {
        "severity": problem.severity.value,
        "side": problem.side,
        "table": problem.table,
        "message": problem.message,
        "fix": problem.fix,
    }


def table_forecast_document(table: TableForecast) -> dict[str, Any]:
    explanation = table.explanation
    return {
        "source_table": table.source_table,
        "target_table": table.target_table,
        "strategy": explanation.strategy.value if explanation else None,
        "alignment": explanation.alignment if explanation else None,
        "reasons": list(explanation.reasons) if explanation else [],
        "problem": table.problem,
        "key": list(table.key),
        "guarantee": _guarantee(table.guarantee) if table.guarantee else None,
        "unverified_columns": [{"column": c.column, "reason": c.reason} for c in table.unverified_columns],
        "schema": [
            {"aspect": f.aspect, "column": f.column, "message": f.message, "breaks": f.breaks} for f in table.schema
        ],
    }


def _endpoint(facts: EndpointFacts) -> dict[str, Any]:
    return {"url": facts.url, "version": facts.version}


def _guarantee(guarantee: Guarantee) -> dict[str, Any]:
    return {
        "hash_bits": guarantee.hash_bits,
        "collision": guarantee.collision,
        "rechecks": guarantee.rechecks,
        "resumes": guarantee.resumes,
    }


def repair_plan_document(plan: RepairSummary | CheckRepairSummary) -> dict[str, Any]:
    return {"kind": "repair plan", **asdict(plan)}


def repair_document(result: RepairResult) -> dict[str, Any]:
    rest = {name: value for name, value in asdict(result).items() if name != "differences"}
    return {"kind": "repair", **rest, "differences": [difference_document(each) for each in result.differences]}


_NAMES = ("key", "columns", "exclude_columns", "exclude", "tables")
"""Lists of names: JSON has no tuples."""


def request_document(request: VerifyRequest, redacted: tuple[str, str]) -> dict[str, Any]:
    """The request with the two `redacted` URLs in place of its own."""
    options = asdict(request.options)
    options["strategy"] = request.options.strategy.value
    document = {
        "source": redacted[0],
        "target": redacted[1],
        "tables": [_with_lists(table) for table in request.tables],
        "options": options,
        "task": request.task,
    }
    if request.meaning is not Meaning.ENGINE:
        document["meaning"] = request.meaning.value
    if request.narrowing != Narrowing():
        document["narrowing"] = _with_lists(request.narrowing)
    return document


def request_from_document(document: Mapping[str, Any], source_url: str, target_url: str) -> VerifyRequest:
    """Reads a request from its document, with these URLs. UsageError if it is not one."""
    _refuse_unknown(document, VerifyRequest)
    return VerifyRequest(
        source_url,
        target_url,
        tuple(_table(table) for table in document.get("tables", ())),
        _options(document.get("options", {})),
        document.get("task"),
        # A job of an earlier version compared by the engines' own SQL, whatever its task was.
        Meaning(document.get("meaning", Meaning.ENGINE)),
        _narrowing(document.get("narrowing") or {}),
    )


def _table(document: Mapping[str, Any]) -> TableRequest:
    _refuse_unknown(document, TableRequest)
    return TableRequest(**_with_tuples(document))


def _narrowing(document: Mapping[str, Any]) -> Narrowing:
    _refuse_unknown(document, Narrowing)
    return Narrowing(**_with_tuples(document))


def _with_lists(what: TableRequest | Narrowing) -> dict[str, Any]:
    document = asdict(what)
    for name in document.keys() & set(_NAMES):
        document[name] = None if document[name] is None else list(document[name])
    document["tolerance"] = dict(what.tolerance)
    document["expressions"] = {column: list(pair) for column, pair in what.expressions.items()}
    return document


def _with_tuples(document: Mapping[str, Any]) -> dict[str, Any]:
    values = dict(document)
    for name in _NAMES:
        if values.get(name) is not None:
            values[name] = tuple(values[name])
    values["tolerance"] = dict(values.get("tolerance") or {})
    values["expressions"] = {column: tuple(pair) for column, pair in (values.get("expressions") or {}).items()}
    return values


def _options(document: Mapping[str, Any]) -> VerifyOptions:
    _refuse_unknown(document, VerifyOptions)
    return VerifyOptions(**document)


def _refuse_unknown(
    document: Mapping[str, Any], into: type[VerifyRequest | TableRequest | Narrowing | VerifyOptions]
) -> None:
    unknown = sorted(document.keys() - {field.name for field in fields(into)})
    if unknown:
        raise UsageError(
            f"the job's request has a field {unknown[0]!r} that this version does not know", "use a newer Tieout"
        )
