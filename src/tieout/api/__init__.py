"""One function for each thing a user does. They return what commands print."""

from __future__ import annotations

from tieout.api.checks import (
    check,
    follow_checks,
    forget_checked,
    parse_check,
    resumable_check,
    resume_check,
    split_checks,
)
from tieout.api.failures import judge_failure, list_failures, show_failure
from tieout.api.jobs import JobDetails, JobTableStatus, cancel_job, list_jobs, pause_job, resumable_job, show_job
from tieout.api.moves import control_move, drop_move, move_status, move_statuses, restart_table, run_move
from tieout.api.repairs import (
    PlanDetails,
    apply_check_repair,
    apply_repair,
    plan_check_repair,
    plan_repair,
    repair_plan,
    repairable_job,
    undo_check_repair,
    undo_repair,
    write_check_repair_sql,
    write_repair_sql,
)
from tieout.api.sessions import SparkSettings
from tieout.api.verifications import (
    compare,
    explain,
    preflight,
    run_verification,
    verify,
)

__all__ = [
    "JobDetails",
    "JobTableStatus",
    "PlanDetails",
    "SparkSettings",
    "apply_check_repair",
    "apply_repair",
    "cancel_job",
    "check",
    "compare",
    "control_move",
    "drop_move",
    "explain",
    "follow_checks",
    "forget_checked",
    "judge_failure",
    "list_failures",
    "list_jobs",
    "move_status",
    "move_statuses",
    "parse_check",
    "pause_job",
    "plan_check_repair",
    "plan_repair",
    "preflight",
    "repair_plan",
    "repairable_job",
    "restart_table",
    "resumable_check",
    "resumable_job",
    "resume_check",
    "run_move",
    "run_verification",
    "show_failure",
    "show_job",
    "split_checks",
    "undo_check_repair",
    "undo_repair",
    "verify",
    "write_check_repair_sql",
    "write_repair_sql",
]
