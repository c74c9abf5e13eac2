"""The stable JSON shape of a result. Values of rows are canonical text or null, never JSON numbers."""

from __future__ import annotations

from typing import Any

from tieout.model.differences import Difference
from tieout.model.results import TableResult, VerificationResult
from tieout.model.truncated import truncated_documents


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
    """Which values are only the beginning of what the database holds, in the shape of `key` and `columns`."""
    columns = {
        name: truncated_documents({"source": v.source, "target": v.target}) for name, v in difference.columns.items()
    }
    found = {"key": truncated_documents(difference.key), "columns": {n: each for n, each in columns.items() if each}}
    return {name: each for name, each in found.items() if each}
