"""A job as plain values, for lists and documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tieout.meta import Job, JobTable

LISTED = ("job", "kind", "state", "verdict", "task", "source", "target", "started_at", "finished_at")
TABLES = ("source_table", "target_table", "state", "verdict", "rows_done", "strategy")


def job_values(job: Job) -> dict[str, object]:
    """All that is known of a job, in the order people ask for it."""
    return {
        "job": job.id,
        "kind": job.kind.value,
        "state": job.state.value,
        "verdict": job.verdict,
        "wanted": job.wanted.value if job.wanted else None,
        "error": job.error,
        "task": job.task,
        "source": job.source,
        "target": job.target,
        "started_at": job.started_at,
        "updated_at": job.updated_at,
        "finished_at": job.finished_at,
        "process": f"{job.pid} on {job.host}" if job.pid is not None else None,
    }


def table_values(table: JobTable) -> dict[str, object]:
    result: Mapping[str, object] = table.result or {}
    plan: Mapping[str, object] = table.plan or {}
    return {
        "source_table": table.source_table,
        "target_table": table.target_table,
        "state": table.state.value,
        "verdict": result.get("verdict"),
        "rows_done": table.rows_done,
        "strategy": plan.get("strategy"),
    }
