"""How much log a PostgreSQL server keeps for a slot, and what limits it."""

from __future__ import annotations

from typing import Any

from tieout.model.forecast import Problem, Severity
from tieout.model.retention import Retention

# idle_replication_slot_timeout came with PostgreSQL 18.
_SETTINGS = """SELECT (SELECT setting::int8 FROM pg_settings WHERE name = 'max_slot_wal_keep_size'),
  current_setting('idle_replication_slot_timeout', true)"""

_SLOT = """SELECT coalesce(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
  ELSE pg_current_wal_insert_lsn() END, restart_lsn), 0)::int8, wal_status
FROM pg_replication_slots WHERE slot_name = %s"""

_LITTLE = 1024
"""Megabytes of log that a busy server writes in minutes."""


def retention(connection: Any, slot: str, publication: str) -> Retention:
    megabytes, idle = connection.execute(_SETTINGS).fetchone()
    limit, warning = _limit(megabytes, None if idle in (None, "0") else idle)
    found = connection.execute(_SLOT, [slot]).fetchone()
    if found is None:
        return Retention(None, None, limit, warning=warning)
    kept, status = found
    left = f"replication slot {slot} and publication {publication}"
    return Retention(left, kept, limit, warning=_danger(slot, status) or warning)


def _limit(megabytes: int, idle: str | None) -> tuple[str, Problem | None]:
    if megabytes < 0 and idle is None:
        setting = "max_slot_wal_keep_size = -1"
        message = f"nothing limits the log that the server keeps for a task ({setting}): it may fill the disk"
        fix = "set max_slot_wal_keep_size to what the disk can spare; tieout task drop ends it for a task"
        return f"nothing limits it ({setting})", Problem(Severity.NOTE, message, fix)
    if megabytes < 0:
        return f"the server ends it when no mover has run for {idle} (idle_replication_slot_timeout)", None
    limit = f"the server keeps {megabytes:,} MB at most (max_slot_wal_keep_size)"
    if megabytes >= _LITTLE:
        return limit, None
    message = f"the log is kept for {megabytes:,} MB (max_slot_wal_keep_size)"
    fix = "set it to as much as is written while no mover runs: else the task has to begin anew"
    return limit, Problem(Severity.NOTE, message, fix)


def _danger(slot: str, status: str | None) -> Problem | None:
    if status == "unreserved":
        message = f"the server is about to remove log that the task needs (replication slot {slot})"
        return Problem(Severity.NOTE, message, "run the mover now, and raise max_slot_wal_keep_size")
    if status in ("lost", None):
        message = f"the server has removed log that the task needs (replication slot {slot})"
        return Problem(Severity.NOTE, message, "changes are lost: drop the task, empty its tables and begin anew")
    return None
