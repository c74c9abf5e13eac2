"""Problems that prevent a move from or to PostgreSQL, each with its fix; and how much log the server keeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.errors import START_OVER
from tieout.connectors.postgres.move.ddl_from_other_engine import NAME_BYTES, TOO_LONG
from tieout.connectors.postgres.move.loader import SCHEMA
from tieout.connectors.postgres.wal.publication import identities, unfit
from tieout.connectors.protocols.move import Destination
from tieout.connectors.sql.session import SqlSession
from tieout.model.preflight import Problem, Retention, Severity
from tieout.model.tables import TableName

# Amazon RDS grants REPLICATION through membership in a role. `own`: the slot exists already.
_SOURCE_SERVER = """SELECT current_setting('wal_level') AS wal_level,
  current_setting('max_replication_slots')::int AS most,
  (SELECT count(*) FROM pg_replication_slots) AS used,
  EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = %s) AS own,
  quote_ident(current_user) AS "user", quote_ident(current_database()) AS database,
  (SELECT rolsuper OR rolreplication FROM pg_roles WHERE rolname = current_user) OR EXISTS
  (SELECT FROM pg_roles WHERE rolname = 'rds_replication' AND pg_has_role(current_user, oid, 'member'))
  AS may_replicate,
  has_database_privilege(current_database(), 'CREATE') AS may_publish,
  pg_is_in_recovery() AS standby, current_setting('default_transaction_read_only')::bool AS read_only"""

_SOURCE_TABLE = """SELECT c.relpersistence = 'u' OR EXISTS (SELECT FROM pg_partition_tree(c.oid) t
    JOIN pg_class p ON p.oid = t.relid WHERE p.relpersistence = 'u') AS unlogged,
  has_table_privilege(c.oid, 'SELECT') AS readable, pg_has_role(c.relowner, 'USAGE') AS owned,
  quote_ident(current_user) AS "user", quote_ident(pg_get_userbyid(c.relowner)) AS owner
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s"""


def log_problems(connection: Any, slot: str) -> Iterator[Problem]:
    """Problems of the server and the user. `slot` is the one that the task has, or would create."""
    server = _row(connection, _SOURCE_SERVER, slot)
    assert server is not None
    if server["wal_level"] != "logical":
        yield _prevents(f"wal_level is {server['wal_level']}", "set it to logical, and restart the server")
    if server["used"] >= server["most"] and not server["own"]:
        fix = "drop a slot that nobody needs, or raise max_replication_slots and restart the server"
        yield _prevents(f"all {server['most']} replication slots are in use", fix)
    if not server["may_replicate"]:
        yield _prevents(f"user {server['user']} may not read the log", f"ALTER ROLE {server['user']} REPLICATION")
    if not server["may_publish"]:
        fix = f"GRANT CREATE ON DATABASE {server['database']} TO {server['user']}"
        yield _prevents(f"user {server['user']} may not create a publication", fix)
    if server["standby"]:
        yield _prevents("the server is a standby, and publications can't be created there", "give the primary's URL")
    elif server["read_only"] and not server["own"]:
        fix = f"ALTER ROLE {server['user']} SET default_transaction_read_only = off"
        yield _prevents("sessions are read-only (default_transaction_read_only), and the task needs a new slot", fix)


def table_problems(connection: Any, table: TableName, key: Sequence[str]) -> Iterator[Problem]:
    """Problems of a table; none if it is gone by now: whoever reads it says so. `key` identifies its rows."""
    name, found = str(table), _row(connection, _SOURCE_TABLE, table.schema, table.name)
    if found is None:
        return
    if found["unlogged"]:
        fix = f"ALTER TABLE {quoting.shown(table)} SET LOGGED, or leave the table out"
        yield _prevents("it is unlogged: its changes are not in the log", fix, name)
    if not found["readable"]:
        fix = f"GRANT SELECT ON {quoting.shown(table)} TO {found['user']}"
        yield _prevents(f"user {found['user']} may not read it", fix, name)
    if not found["owned"]:
        fix = f"GRANT {found['owner']} TO {found['user']}, or connect as {found['owner']}"
        yield _prevents("only its owner may publish it", fix, name)
    for identity in identities(connection, [table]).values():
        if (reason := unfit(table, identity, key)) is not None:
            yield _prevents(*reason, name)


# idle_replication_slot_timeout came with PostgreSQL 18.
_SETTINGS = """SELECT (SELECT setting::int8 FROM pg_settings WHERE name = 'max_slot_wal_keep_size'),
  current_setting('idle_replication_slot_timeout', true)"""

_SLOT = """SELECT coalesce(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
  ELSE pg_current_wal_insert_lsn() END, restart_lsn), 0)::int8, wal_status
FROM pg_replication_slots WHERE slot_name = %s"""

_LITTLE = 1024
"""Megabytes of log that a busy server writes within minutes."""


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
        fix = "set max_slot_wal_keep_size to what the disk can spare; `tieout task drop` frees the log of a task"
        return f"nothing limits it ({setting})", Problem(Severity.NOTE, message, fix)
    if megabytes < 0:
        return f"the server drops it when no mover has run for {idle} (idle_replication_slot_timeout)", None
    limit = f"the server keeps at most {megabytes:,} MB (max_slot_wal_keep_size)"
    if megabytes >= _LITTLE:
        return limit, None
    message = f"the server keeps only {megabytes:,} MB of log (max_slot_wal_keep_size)"
    fix = "raise it to the amount of log that is written while no mover runs; otherwise the task has to start over"
    return limit, Problem(Severity.NOTE, message, fix)


def _danger(slot: str, status: str | None) -> Problem | None:
    if status == "unreserved":
        message = f"the server is about to remove log that the task needs (replication slot {slot})"
        return Problem(Severity.NOTE, message, "run the mover now, and raise max_slot_wal_keep_size")
    if status in ("lost", None):
        message = f"the server has removed log that the task needs (replication slot {slot})"
        return Problem(Severity.NOTE, message, START_OVER)
    return None


# The session tried to disable triggers when it started: no privilege function reports whether it may.
_TARGET_SERVER = """SELECT pg_is_in_recovery(), current_setting('transaction_read_only')::bool,
  current_setting('session_replication_role') = 'replica', quote_ident(current_user), quote_ident(current_database()),
  (SELECT has_schema_privilege(oid, 'CREATE') AND has_schema_privilege(oid, 'USAGE')
   FROM pg_namespace WHERE nspname = %s), has_database_privilege(current_database(), 'CREATE')"""

_SCHEMA = "SELECT has_schema_privilege(oid, 'CREATE'), quote_ident(nspname) FROM pg_namespace WHERE nspname = %s"

# Triggers that are enabled as A (always) or R (replica) stay active.
_TARGET_TABLE = """SELECT has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
  AND has_table_privilege(c.oid, 'DELETE'),
  (SELECT array_agg(t.tgname::text ORDER BY t.tgname) FROM pg_trigger t
   WHERE t.tgrelid = c.oid AND NOT t.tgisinternal AND t.tgenabled IN ('A', 'R')),
  (SELECT array_agg(t.tgname::text ORDER BY t.tgname) FROM pg_trigger t
   WHERE t.tgrelid = c.oid AND NOT t.tgisinternal AND t.tgenabled = 'O'),
  EXISTS (SELECT FROM pg_constraint k WHERE k.contype = 'f' AND c.oid IN (k.conrelid, k.confrelid))
FROM pg_class c WHERE c.oid = %s::regclass"""


def target_problems(session: SqlSession, destinations: Sequence[Destination]) -> list[Problem]:
    ((standby, read_only, asleep, user, database, own, may_create),) = session.rows(_TARGET_SERVER, [SCHEMA])
    found = []
    if standby:
        found.append(_prevents("the server is a standby, which accepts no changes", "give the primary's URL"))
    elif read_only:
        fix = f"ALTER ROLE {user} SET default_transaction_read_only = off"
        found.append(_prevents("sessions are read-only (default_transaction_read_only)", fix))
    if own is None and not may_create:
        message = f"user {user} may not create the schema {SCHEMA}, which holds the progress of moves"
        found.append(_prevents(message, f"GRANT CREATE ON DATABASE {database} TO {user}"))
    elif own is False:
        fix = f"GRANT ALL ON SCHEMA {SCHEMA} TO {user}"
        found.append(_prevents(f"user {user} may not use the schema {SCHEMA}, which holds the progress of moves", fix))
    found += _schemas(session, user, destinations)
    for destination in destinations:
        if destination.there is None and len(destination.name.name.encode()) > NAME_BYTES:
            # The server would create it under a shorter name.
            found.append(_prevents(TOO_LONG, "choose a shorter `to`", str(destination.name)))
        found += _of_table(session, user, asleep, destination)
    return found


def _schemas(session: SqlSession, user: str, destinations: Sequence[Destination]) -> Iterator[Problem]:
    for name in sorted({each.name.schema for each in destinations if each.there is None}):
        rows = session.rows(_SCHEMA, [name])
        if not rows:
            yield _prevents(f"schema {name} does not exist", f"CREATE SCHEMA {session.quote(name)}")
        elif not rows[0][0]:
            fix = f"GRANT CREATE ON SCHEMA {rows[0][1]} TO {user}"
            yield _prevents(f"user {user} may not create tables in the schema {name}", fix)


def _of_table(session: SqlSession, user: str, asleep: bool, destination: Destination) -> Iterator[Problem]:
    name, table = str(destination.name), session.table(destination.name)
    awake_fix = f"GRANT SET ON PARAMETER session_replication_role TO {user}, or move as a superuser"
    if destination.there is None:
        if destination.has_foreign_keys and not asleep:
            yield _prevents("its foreign keys would be checked for every row that is moved", awake_fix, name)
        return
    ((writable, stubborn, ordinary, wired),) = session.rows(_TARGET_TABLE, [table])
    if not writable:
        fix = f"GRANT SELECT, INSERT, DELETE ON {table} TO {user}"
        yield _prevents(f"user {user} may not write to it", fix, name)
    if stubborn:
        fix = f"ALTER TABLE {table} DISABLE TRIGGER {session.quote(stubborn[0])} until the move is over"
        yield _prevents(f"its trigger {stubborn[0]} would run for every row that is moved", fix, name)
    if ordinary and not asleep:
        yield _prevents(f"its trigger {ordinary[0]} would run for every row that is moved", awake_fix, name)
    if wired and not asleep:
        yield _prevents("its foreign keys would be checked for every row that is moved", awake_fix, name)


def _prevents(message: str, fix: str, table: str | None = None) -> Problem:
    return Problem(Severity.PREVENTS, message, fix, table=table)


def _row(connection: Any, statement: str, *parameters: str) -> dict[str, Any] | None:
    cursor = connection.execute(statement, list(parameters))
    row = cursor.fetchone()
    return None if row is None else dict(zip((column.name for column in cursor.description), row, strict=True))
