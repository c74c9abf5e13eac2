"""What keeps a user from following the changes of a PostgreSQL server, each with what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.wal.publication import identities, unfit
from tieout.model.preflight import Problem, Severity
from tieout.model.tables import TableName

# Amazon RDS has no role with REPLICATION: it has a role to be a member of. `own` is a slot that is there already.
_SERVER = """SELECT current_setting('wal_level') AS wal_level, current_setting('max_replication_slots')::int AS most,
  (SELECT count(*) FROM pg_replication_slots) AS used,
  EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = %s) AS own,
  quote_ident(current_user) AS "user", quote_ident(current_database()) AS database,
  (SELECT rolsuper OR rolreplication FROM pg_roles WHERE rolname = current_user) OR EXISTS
  (SELECT FROM pg_roles WHERE rolname = 'rds_replication' AND pg_has_role(current_user, oid, 'member'))
  AS may_replicate,
  has_database_privilege(current_database(), 'CREATE') AS may_publish,
  pg_is_in_recovery() AS standby, current_setting('default_transaction_read_only')::bool AS read_only"""

_TABLE = """SELECT c.relpersistence = 'u' OR EXISTS (SELECT FROM pg_partition_tree(c.oid) t
    JOIN pg_class p ON p.oid = t.relid WHERE p.relpersistence = 'u') AS unlogged,
  has_table_privilege(c.oid, 'SELECT') AS readable, pg_has_role(c.relowner, 'USAGE') AS owned,
  quote_ident(current_user) AS "user", quote_ident(pg_get_userbyid(c.relowner)) AS owner
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s"""


def log_problems(connection: Any, slot: str) -> Iterator[Problem]:
    """Of the server and the user. `slot` is the one that a task has, or would make."""
    server = _row(connection, _SERVER, slot)
    if server["wal_level"] != "logical":
        yield _prevents(f"wal_level is {server['wal_level']}", "set it to logical, and restart the server")
    if server["used"] >= server["most"] and not server["own"]:
        fix = "drop one that nobody needs, or raise max_replication_slots and restart the server"
        yield _prevents(f"all {server['most']} replication slots are in use", fix)
    if not server["may_replicate"]:
        yield _prevents(f"user {server['user']} may not read the log", f"ALTER ROLE {server['user']} REPLICATION")
    if not server["may_publish"]:
        fix = f"GRANT CREATE ON DATABASE {server['database']} TO {server['user']}"
        yield _prevents(f"user {server['user']} may not make a publication", fix)
    if server["standby"]:
        yield _prevents("the server is a standby, where no publication can be made", "give the primary's URL")
    elif server["read_only"] and not server["own"]:
        fix = f"ALTER ROLE {server['user']} SET default_transaction_read_only = off"
        yield _prevents("sessions are read-only (default_transaction_read_only), and a slot has to be made", fix)


def table_problems(connection: Any, table: TableName, key: Sequence[str]) -> Iterator[Problem]:
    """Of a table that is there. `key` is what its rows are known by."""
    name, found = str(table), _row(connection, _TABLE, table.schema, table.name)
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


def _prevents(message: str, fix: str, table: str | None = None) -> Problem:
    return Problem(Severity.PREVENTS, message, fix, table=table)


def _row(connection: Any, statement: str, *parameters: str) -> dict[str, Any]:
    cursor = connection.execute(statement, list(parameters))
    return dict(zip((column.name for column in cursor.description), cursor.fetchone(), strict=True))
