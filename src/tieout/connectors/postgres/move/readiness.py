"""What keeps rows from being written to a PostgreSQL database, each with what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tieout.connectors.postgres.move.loader import SCHEMA
from tieout.connectors.protocols.move import Destination
from tieout.connectors.sql.session import Session
from tieout.model.preflight import Problem, Severity

# Whether triggers sleep was tried when the session began: it is not a privilege that could be asked for.
_SERVER = """SELECT pg_is_in_recovery(), current_setting('transaction_read_only')::bool,
  current_setting('session_replication_role') = 'replica', quote_ident(current_user), quote_ident(current_database()),
  (SELECT has_schema_privilege(oid, 'CREATE') AND has_schema_privilege(oid, 'USAGE')
   FROM pg_namespace WHERE nspname = %s), has_database_privilege(current_database(), 'CREATE')"""

_SCHEMA = "SELECT has_schema_privilege(oid, 'CREATE'), quote_ident(nspname) FROM pg_namespace WHERE nspname = %s"

# Those that are A (always) or R (replica) do not sleep.
_TABLE = """SELECT has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
  AND has_table_privilege(c.oid, 'DELETE'),
  (SELECT array_agg(t.tgname::text ORDER BY t.tgname) FROM pg_trigger t
   WHERE t.tgrelid = c.oid AND NOT t.tgisinternal AND t.tgenabled IN ('A', 'R')),
  (SELECT array_agg(t.tgname::text ORDER BY t.tgname) FROM pg_trigger t
   WHERE t.tgrelid = c.oid AND NOT t.tgisinternal AND t.tgenabled = 'O'),
  EXISTS (SELECT FROM pg_constraint k WHERE k.contype = 'f' AND c.oid IN (k.conrelid, k.confrelid))
FROM pg_class c WHERE c.oid = %s::regclass"""


def target_problems(session: Session, destinations: Sequence[Destination]) -> list[Problem]:
    ((standby, read_only, asleep, user, database, own, may_create),) = session.rows(_SERVER, [SCHEMA])
    found = []
    if standby:
        found.append(_prevents("the server is a standby, and takes no changes", "give the primary's URL"))
    elif read_only:
        fix = f"ALTER ROLE {user} SET default_transaction_read_only = off"
        found.append(_prevents("sessions are read-only (default_transaction_read_only)", fix))
    if own is None and not may_create:
        message = f"user {user} may not make the schema {SCHEMA}, which progress is kept in"
        found.append(_prevents(message, f"GRANT CREATE ON DATABASE {database} TO {user}"))
    elif own is False:
        fix = f"GRANT ALL ON SCHEMA {SCHEMA} TO {user}"
        found.append(_prevents(f"user {user} may not use the schema {SCHEMA}, which progress is kept in", fix))
    found += _schemas(session, user, destinations)
    for destination in destinations:
        found += _of_table(session, user, asleep, destination)
    return found


def _schemas(session: Session, user: str, destinations: Sequence[Destination]) -> Iterator[Problem]:
    for name in sorted({each.name.schema for each in destinations if each.there is None}):
        rows = session.rows(_SCHEMA, [name])
        if not rows:
            yield _prevents(f"there is no schema {name}", f"CREATE SCHEMA {session.quote(name)}")
        elif not rows[0][0]:
            fix = f"GRANT CREATE ON SCHEMA {rows[0][1]} TO {user}"
            yield _prevents(f"user {user} may not make tables in the schema {name}", fix)


def _of_table(session: Session, user: str, asleep: bool, destination: Destination) -> Iterator[Problem]:
    name, table = str(destination.name), session.table(destination.name)
    awake_fix = f"GRANT SET ON PARAMETER session_replication_role TO {user}, or move as a superuser"
    if destination.there is None:
        if destination.refers and not asleep:
            yield _prevents("its foreign keys would be checked with every row", awake_fix, name)
        return
    ((writable, stubborn, ordinary, wired),) = session.rows(_TABLE, [table])
    if not writable:
        fix = f"GRANT SELECT, INSERT, DELETE ON {table} TO {user}"
        yield _prevents(f"user {user} may not write to it", fix, name)
    if stubborn:
        fix = f"ALTER TABLE {table} DISABLE TRIGGER {session.quote(stubborn[0])} until the move is over"
        yield _prevents(f"its trigger {stubborn[0]} would run for every row that is moved", fix, name)
    if ordinary and not asleep:
        yield _prevents(f"its trigger {ordinary[0]} would run for every row that is moved", awake_fix, name)
    if wired and not asleep:
        yield _prevents("its foreign keys would be checked with every row", awake_fix, name)


def _prevents(message: str, fix: str, table: str | None = None) -> Problem:
    return Problem(Severity.PREVENTS, message, fix, table=table)
