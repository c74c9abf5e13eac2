"""What keeps rows from being written to a MySQL server, each with what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tieout.connectors.mysql import quoting
from tieout.connectors.mysql.move.grants import Grants
from tieout.connectors.mysql.move.loader import takes_files
from tieout.connectors.mysql.move.session import MySQLSession
from tieout.connectors.protocols.move import Destination
from tieout.errors import AccessError
from tieout.model.forecast import Problem, Severity

_RIGHTS = ("SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "INDEX")
TRANSACTIONAL = {"InnoDB", "ROCKSDB"}
_TRIGGERS = """SELECT trigger_name FROM information_schema.triggers
WHERE event_object_schema = %s AND event_object_table = %s ORDER BY trigger_name"""


def target_problems(session: MySQLSession, own: str, destinations: Sequence[Destination]) -> list[Problem]:
    """`own` is the schema that progress is kept in."""
    schemas = sorted({own, *(each.name.schema for each in destinations)})
    found = [*_of_server(session), *_of_schemas(session, schemas)]
    for destination in destinations:
        if destination.there is not None:
            found += _of_table(session, destination)
    return found


def _of_server(session: MySQLSession) -> Iterator[Problem]:
    try:
        # Whoever may write to a read-only server is not refused.
        session.execute("START TRANSACTION READ WRITE")
    except AccessError as error:
        yield _prevents(error.message, "SET GLOBAL read_only = 0, or give the primary's URL")
    session.rollback()
    known = session.rows("SELECT support FROM information_schema.engines WHERE engine = 'Aria'")
    if not known or known[0][0] not in ("YES", "DEFAULT"):
        yield _prevents("the server has no Aria tables, which changes are staged in", "MariaDB has them")
    if not takes_files(session):
        message = "local_infile is off: rows are written by INSERT, which takes longer"
        yield Problem(Severity.NOTE, message, "SET GLOBAL local_infile = 1")


def _of_schemas(session: MySQLSession, schemas: Sequence[str]) -> Iterator[Problem]:
    grants = Grants([str(line) for (line,) in session.rows("SHOW GRANTS")])
    user = quoting.account(str(session.rows("SELECT CURRENT_USER()")[0][0]))
    known = {str(schema) for (schema,) in session.rows("SELECT schema_name FROM information_schema.schemata")}
    for schema in schemas:
        if lacking := grants.lacking(_RIGHTS, schema):
            rights, quoted = ", ".join(lacking), session.quote(schema)
            yield _prevents(f"the user lacks {rights} on {schema}", f"GRANT {rights} ON {quoted}.* TO {user}")
        elif schema not in known:
            yield _prevents(f"there is no database {schema}", f"CREATE DATABASE {session.quote(schema)}")


def _of_table(session: MySQLSession, destination: Destination) -> Iterator[Problem]:
    assert destination.there is not None
    name, table = str(destination.name), session.table(destination.name)
    engine = destination.there.engine
    if engine not in TRANSACTIONAL:
        message = f"it is kept by {engine}, which has no transactions: a batch could be there in part"
        yield _prevents(message, f"ALTER TABLE {table} ENGINE = InnoDB", name)
    # No session of MySQL can put them to sleep, as it can foreign keys.
    for (trigger,) in session.rows(_TRIGGERS, [destination.name.schema, destination.name.name]):
        message = f"its trigger {trigger} would run for every row that is moved"
        yield _prevents(message, "drop it, and create it again when the move is over", name)


def _prevents(message: str, fix: str, table: str | None = None) -> Problem:
    return Problem(Severity.PREVENTS, message, fix, table=table)
