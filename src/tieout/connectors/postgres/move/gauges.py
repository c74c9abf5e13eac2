"""How busy a PostgreSQL server is, and how far behind its replicas are.

Who may not see what others do sees NULL, and no error: a throttle that looks at it would never throttle.
"""

from __future__ import annotations

from tieout.connectors.sql.session import Session
from tieout.model.preflight import Problem, Severity

_MAY_LOOK = """SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'), quote_ident(current_user),
  current_setting('track_activities')::bool"""

_LOAD = """SELECT count(*) FROM pg_stat_activity
WHERE state = 'active' AND backend_type = 'client backend' AND pid <> pg_backend_pid()"""

# Who only keeps the log or copies files (pg_receivewal, pg_basebackup) replays nothing. The lag that was measured last
# is still shown when all is replayed. While a replica catches up with what it missed, no lag is measured.
_LAG = """SELECT max(CASE WHEN state IN ('startup', 'catchup') THEN 'Infinity'
  WHEN replay_lsn >= pg_current_wal_lsn() THEN 0
  ELSE coalesce(extract(epoch FROM replay_lag), 0) END)::float8
FROM pg_stat_replication WHERE replay_lsn IS NOT NULL OR state IN ('startup', 'catchup')"""


def load_problem(session: Session) -> Problem | None:
    ((may_look, user, tracked),) = session.rows(_MAY_LOOK)
    if not may_look:
        return _blind(f"user {user} may not see how many statements the server runs (max_load)", user)
    if not tracked:
        fix = "ALTER SYSTEM SET track_activities = on; SELECT pg_reload_conf()"
        message = "track_activities is off: the server does not say how many statements it runs (max_load)"
        return Problem(Severity.PREVENTS, message, fix)
    return None


def lag_problem(session: Session) -> Problem | None:
    ((may_look, user, _),) = session.rows(_MAY_LOOK)
    if not may_look:
        return _blind(f"user {user} may not see how far behind replicas are (max_replica_lag)", user)
    if replica_lag(session) is None:
        message = "no replica streams from the server, so that no lag can be measured (max_replica_lag)"
        return Problem(Severity.PREVENTS, message, "start the replica, or leave max_replica_lag out")
    return None


def load(session: Session) -> int:
    ((running,),) = session.rows(_LOAD)
    return int(running)


def replica_lag(session: Session) -> float | None:
    """Infinite while a replica catches up; None if none is connected."""
    ((seconds,),) = session.rows(_LAG)
    return seconds if seconds is None else float(seconds)


def _blind(message: str, user: str) -> Problem:
    return Problem(Severity.PREVENTS, message, f"GRANT pg_read_all_stats TO {user}")
