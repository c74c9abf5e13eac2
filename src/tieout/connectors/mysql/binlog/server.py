"""What a server reports about its log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tieout.connectors.mysql.binlog.transactions import GtidState
from tieout.connectors.mysql.server_kind import ServerKind
from tieout.connectors.mysql.session import MySQLSession
from tieout.connectors.protocols.check import StatementError
from tieout.errors import UnsupportedError
from tieout.model.positions import Position
from tieout.model.tables import TableName

_TRIES = 10


def is_mariadb(session: MySQLSession) -> bool:
    return ServerKind.of(session.connection.get_server_info()) is ServerKind.MARIADB


def end_of_log(session: MySQLSession) -> Position:
    """Where the log ends, with the GTIDs that it had reached there; without the identity of its file."""
    file, offset, gtids = _end(session)
    if not is_mariadb(session):
        return position(file, offset, gtids)
    for _ in range(_TRIES):
        (gtids,) = _row(session, "SELECT @@GLOBAL.gtid_binlog_pos")
        before, (file, offset, _) = (file, offset), _end(session)
        if before == (file, offset):
            return position(file, offset, gtids)
    # Others write all the time. The server knows the GTIDs at any position, but reads its file from the start for it.
    return position(file, offset, gtids_at(session, Position(f"{file}:{offset}")) or "")


def position(file: str, offset: int, gtids: str) -> Position:
    """A position with its GTIDs in the order of their domains; servers list them in any order."""
    try:
        known = str(GtidState.of("".join(gtids.split())))
    except ValueError:
        known = ""  # MySQL's may have tags, which are not supported
    return Position(f"{file}:{offset}@{known}" if known else f"{file}:{offset}")


def gtids_at(session: MySQLSession, place: Position) -> str | None:
    """The GTIDs reached at a position; None if the server does not know."""
    if not is_mariadb(session):
        return None
    (gtids,) = _row(session, "SELECT BINLOG_GTID_POS(%s, %s)", place.file, place.offset)
    return None if gtids is None else str(gtids)


def file_sizes(session: MySQLSession) -> dict[str, int]:
    """The files of the log, oldest first."""
    return {str(row[0]): int(row[1]) for row in session.rows("SHOW BINARY LOGS")}


def global_variables(session: MySQLSession, names: Sequence[str]) -> dict[str, str]:
    """The values of these variables, as far as the server has them."""
    wanted = ", ".join(["%s"] * len(names))
    found = session.rows(f"SHOW GLOBAL VARIABLES WHERE variable_name IN ({wanted})", names)
    return {str(name): str(value) for name, value in found}


def fraction_digits(session: MySQLSession, table: TableName) -> dict[str, int]:
    """The number of fractional digits of a table's temporal columns."""
    found = session.rows(
        """SELECT column_name, datetime_precision FROM information_schema.columns
            WHERE table_schema = %s AND table_name = %s AND datetime_precision IS NOT NULL""",
        [table.schema, table.name],
    )
    return {str(name): int(digits) for name, digits in found}


def _end(session: MySQLSession) -> tuple[str, int, str]:
    """File, offset, and the GTIDs if the server reports them with it (MySQL)."""
    found = session.attempt("SHOW MASTER STATUS")
    if isinstance(found, StatementError):
        # Either MySQL 8.4 or later, which does not know the statement; or the user may not run it, and this says so.
        found = session.rows("SHOW BINARY LOG STATUS" if found.conclusive else "SHOW MASTER STATUS")
    if not found:
        raise UnsupportedError("the server has no binary log", "start it with log_bin, and binlog_format = ROW")
    row = found[0]
    return str(row[0]), int(row[1]), str(row[4]) if len(row) > 4 else ""


def _row(session: MySQLSession, statement: str, *parameters: Any) -> tuple[Any, ...]:
    return next(iter(session.rows(statement, parameters)), ())
