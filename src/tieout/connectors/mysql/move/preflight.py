"""Problems that prevent moving rows out of a MySQL server, or into one, each with its fix.

SHOW GRANTS says what a user may do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql import quoting
from tieout.connectors.mysql.binlog.dump import log_behind
from tieout.connectors.mysql.binlog.server import end_of_log, global_variables
from tieout.connectors.mysql.dialect import MySQLDialect
from tieout.connectors.mysql.move.loader import TRANSACTIONAL, WITHOUT_TRANSACTIONS, takes_files
from tieout.connectors.mysql.server_kind import ServerKind
from tieout.connectors.mysql.session import MySQLSession
from tieout.connectors.protocols.move import Destination
from tieout.connectors.sql.session import Purpose
from tieout.errors import AccessError
from tieout.model.preflight import Problem, Severity
from tieout.model.tables import Table

# GRANT SELECT, INSERT (`a`, `b`) ON `shop`.* TO …; a role that is granted has no ON.
_GRANT = re.compile(r"GRANT (?P<rights>.+?) ON (?P<schema>\*|`(?:[^`]|``)+`)\.(?P<table>\*|`(?:[^`]|``)+`) TO ")
_ALL = "ALL PRIVILEGES"
_NAME_LENGTH = 64


@dataclass(frozen=True)
class Grants:
    """Lines of SHOW GRANTS, for a user and its roles."""

    lines: Sequence[str]

    def lacking(self, rights: Sequence[str], schema: str) -> list[str]:
        """The rights that the user lacks on the tables of a schema."""
        had = {right for line in self.lines for right in _rights(line, schema)}
        return [] if _ALL in had else [right for right in rights if right not in had]


def _rights(line: str, schema: str) -> list[str]:
    found = _GRANT.match(line)
    if found is None or found["table"] != "*":
        return []
    if found["schema"] != "*" and not _is_like(schema, found["schema"][1:-1].replace("``", "`")):
        return []
    return [right.strip() for right in found["rights"].split(",")]


def _is_like(schema: str, pattern: str) -> bool:
    r"""Whether a schema matches the pattern of a grant, which is one of LIKE; \ escapes a letter."""
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    meant = {"%": ".*", "_": "."}
    expression = "".join(meant.get(part) or re.escape(part[-1]) for part in parts)
    return re.fullmatch(expression, schema, re.DOTALL) is not None


_SETTINGS = {
    "binlog_format": ("ROW", "the log has statements, not rows"),
    "binlog_row_image": ("FULL", "the log omits columns of changed rows"),
    "binlog_row_metadata": ("FULL", "the log does not name the columns of rows"),
    # MySQL only.
    "binlog_row_value_options": ("", "the log has parts of JSON values"),
    "binlog_transaction_compression": ("OFF", "the log has compressed transactions"),
}
_WATERMARK_RIGHTS = ("SELECT", "INSERT", "UPDATE", "CREATE", "DROP")


def source_problems(
    url: EndpointUrl, server_kind: ServerKind, tables: Sequence[Table], *, watermarks: bool = False
) -> list[Problem]:
    """`watermarks`: chunks are read between two watermarks, which the mover writes."""
    with closing(MySQLSession(url)) as session:
        settings = global_variables(session, ("log_bin", "binlog_order_commits", *_SETTINGS))
        found, user = [*_of_log(settings)], _user(session)
        if watermarks:
            found += _of_watermarks(url, settings, user)
        if settings["log_bin"] == "ON":
            found += _of_rights(url, session, user, tables)
        for table in tables:
            statement = f"SELECT * FROM {MySQLDialect(server_kind).table(table.name)} LIMIT 0"
            fix = f"GRANT SELECT ON {MySQLDialect(server_kind).table(table.name)} TO {user}"
            found += _refused(partial(session.rows, statement), fix, str(table.name))
        return found


def _of_watermarks(url: EndpointUrl, settings: dict[str, str], user: str) -> Iterator[Problem]:
    if settings.get("binlog_order_commits", "ON") != "ON":
        message = "binlog_order_commits is off, so the position of a snapshot is unknown"
        yield Problem(Severity.PREVENTS, message, "SET GLOBAL binlog_order_commits = ON")
    with closing(MySQLSession(url, Purpose.MOVE)) as session:
        grants = Grants([str(line) for (line,) in session.rows("SHOW GRANTS")])
        schema = url.database or ""
        if lacking := ", ".join(grants.lacking(_WATERMARK_RIGHTS, schema)):
            fix = f"GRANT {lacking} ON {session.quote(schema)}.* TO {user}"
            yield Problem(
                Severity.PREVENTS, f"the user lacks {lacking} on {schema}, where the mover writes watermarks", fix
            )
        try:
            session.execute("START TRANSACTION READ WRITE")
        except AccessError as error:
            fix = "SET GLOBAL read_only = 0, or give the primary's URL: the mover writes watermarks there"
            yield Problem(Severity.PREVENTS, error.message, fix)
        session.rollback()


def _of_log(settings: dict[str, str]) -> Iterator[Problem]:
    if settings["log_bin"] != "ON":
        fix = "start it with log_bin, binlog_format = ROW and binlog_row_metadata = FULL"
        yield Problem(Severity.PREVENTS, "the server has no binary log", fix)
        return
    for name, (wanted, why) in _SETTINGS.items():
        if settings.get(name, wanted).upper() != wanted:
            fix = f"SET GLOBAL {name} = {quoting.text(wanted)}, and in its configuration"
            fix = f"{fix}; then end connections that were open before"
            yield Problem(Severity.PREVENTS, f"{name} is {settings[name]}: {why}", fix)


def _of_rights(url: EndpointUrl, session: MySQLSession, user: str, tables: Sequence[Table]) -> Iterator[Problem]:
    """Runs the same statements as a mover, and reports those that the server refuses."""
    monitor = (
        "REPLICATION CLIENT"
        if ServerKind.of(session.connection.get_server_info()) is not ServerKind.MARIADB
        else "BINLOG MONITOR"
    )
    blind = [*_refused(partial(session.rows, "SHOW BINARY LOGS"), f"GRANT {monitor} ON *.* TO {user}")]
    yield from blind
    if not blind:
        yield from _left_out(session, tables)
        yield from _refused(partial(_read_end, url, session), f"GRANT REPLICATION SLAVE ON *.* TO {user}")


def _read_end(url: EndpointUrl, session: MySQLSession) -> None:
    with log_behind(url, end_of_log(session)):
        pass


def _left_out(session: MySQLSession, tables: Sequence[Table]) -> Iterator[Problem]:
    """Schemas that the server is configured not to log: a mover would miss their changes."""
    status = session.rows("SHOW MASTER STATUS")
    only, but = ({name for name in str(text or "").split(",") if name} for text in status[0][2:4])
    for schema in sorted({table.name.schema for table in tables}):
        if (only and schema not in only) or schema in but:
            fix = "take binlog_do_db and binlog_ignore_db out of its configuration, and restart the server"
            yield Problem(Severity.PREVENTS, f"the server does not log changes of {schema}", fix)


def _refused(ask: Callable[[], object], fix: str, table: str | None = None) -> Iterator[Problem]:
    try:
        ask()
    except AccessError as error:
        yield Problem(Severity.PREVENTS, error.message, fix, table=table)


def _user(session: MySQLSession) -> str:
    return quoting.account(str(session.rows("SELECT CURRENT_USER()")[0][0]))


_WRITING_RIGHTS = ("SELECT", "INSERT", "UPDATE", "DELETE")
_RIGHTS = (*_WRITING_RIGHTS, "CREATE", "DROP", "ALTER", "INDEX")
_TRIGGERS = """SELECT trigger_name FROM information_schema.triggers
WHERE event_object_schema = %s AND event_object_table = %s ORDER BY trigger_name"""


def target_problems(session: MySQLSession, own: str, destinations: Sequence[Destination]) -> list[Problem]:
    """`own` is the schema of the progress tables."""
    creating = {own, *(each.name.schema for each in destinations if each.there is None)}
    writing = {each.name.schema for each in destinations} - creating
    wanted = {**dict.fromkeys(creating, _RIGHTS), **dict.fromkeys(writing, _WRITING_RIGHTS)}
    found = [*_of_server(session), *_of_schemas(session, wanted)]
    for destination in destinations:
        if destination.there is not None:
            found += _of_table(session, destination)
        elif len(destination.name.name) > _NAME_LENGTH:
            message = f"MariaDB and MySQL allow names of at most {_NAME_LENGTH} characters"
            found.append(_prevents(message, "choose a shorter `to`", str(destination.name)))
    return found


def _of_server(session: MySQLSession) -> Iterator[Problem]:
    try:
        # The server does not refuse users who may write to a read-only server.
        session.execute("START TRANSACTION READ WRITE")
    except AccessError as error:
        yield _prevents(error.message, "SET GLOBAL read_only = 0, or give the primary's URL")
    session.rollback()
    known = session.rows("SELECT support FROM information_schema.engines WHERE engine = 'Aria'")
    if not known or known[0][0] not in ("YES", "DEFAULT"):
        yield _prevents("the server lacks the Aria engine, which the mover stages changes in", "MariaDB has it")
    if not takes_files(session):
        message = "local_infile is off: the mover writes rows by INSERT, which takes longer"
        yield Problem(Severity.NOTE, message, "SET GLOBAL local_infile = 1")


def _of_schemas(session: MySQLSession, wanted: Mapping[str, Sequence[str]]) -> Iterator[Problem]:
    grants = Grants([str(line) for (line,) in session.rows("SHOW GRANTS")])
    user = _user(session)
    known = {str(schema) for (schema,) in session.rows("SELECT schema_name FROM information_schema.schemata")}
    for schema in sorted(wanted):
        if lacking := grants.lacking(wanted[schema], schema):
            rights, quoted = ", ".join(lacking), session.quote(schema)
            yield _prevents(f"the user lacks {rights} on {schema}", f"GRANT {rights} ON {quoted}.* TO {user}")
        elif schema not in known:
            yield _prevents(f"database {schema} does not exist", f"CREATE DATABASE {session.quote(schema)}")


def _of_table(session: MySQLSession, destination: Destination) -> Iterator[Problem]:
    assert destination.there is not None
    name, table = str(destination.name), session.table(destination.name)
    engine = destination.there.engine
    if engine in WITHOUT_TRANSACTIONS:
        message = f"its storage engine is {engine}, which has no transactions: readers see parts of a batch"
        yield Problem(Severity.NOTE, message, f"ALTER TABLE {table} ENGINE = InnoDB", table=name)
    elif engine not in TRANSACTIONAL:
        message = f"its storage engine is {engine}, which may not keep what is written"
        yield _prevents(message, f"ALTER TABLE {table} ENGINE = InnoDB", name)
    # A session of MySQL can disable foreign keys, but not triggers.
    for (trigger,) in session.rows(_TRIGGERS, [destination.name.schema, destination.name.name]):
        message = f"its trigger {trigger} would run for every moved row"
        yield _prevents(message, "drop it, and create it again when the move is over", name)


def _prevents(message: str, fix: str, table: str | None = None) -> Problem:
    return Problem(Severity.PREVENTS, message, fix, table=table)
