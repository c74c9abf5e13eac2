"""What a server reports about its log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tieout.connectors.mysql.binlog.transactions import GtidState
from tieout.connectors.mysql.errors import SYNTAX, code_of
from tieout.connectors.mysql.server_kind import ServerKind
from tieout.errors import UnsupportedError
from tieout.model.positions import Position
from tieout.model.tables import TableName

_TRIES = 10


def is_mariadb(connection: Any) -> bool:
    return ServerKind.of(connection.get_server_info()) is ServerKind.MARIADB


def end_of_log(connection: Any) -> Position:
    """Where the log ends, with the GTIDs that it had reached there; without the identity of its file."""
    file, offset, gtids = _end(connection)
    if not is_mariadb(connection):
        return position(file, offset, gtids)
    for _ in range(_TRIES):
        (gtids,) = _row(connection, "SELECT @@GLOBAL.gtid_binlog_pos")
        before, (file, offset, _) = (file, offset), _end(connection)
        if before == (file, offset):
            return position(file, offset, gtids)
    # Others write all the time. The server knows the GTIDs at any position, but reads its file from the start for it.
    return position(file, offset, gtids_at(connection, Position(f"{file}:{offset}")) or "")


def position(file: str, offset: int, gtids: str) -> Position:
    """A position with its GTIDs in the order of their domains; servers list them in any order."""
    try:
        known = str(GtidState.of("".join(gtids.split())))
    except ValueError:
        known = ""  # MySQL's may have tags, which are not supported
    return Position(f"{file}:{offset}@{known}" if known else f"{file}:{offset}")


def gtids_at(connection: Any, place: Position) -> str | None:
    """The GTIDs reached at a position; None if the server does not know."""
    if not is_mariadb(connection):
        return None
    (gtids,) = _row(connection, "SELECT BINLOG_GTID_POS(%s, %s)", place.file, place.offset)
    return None if gtids is None else str(gtids)


def file_sizes(connection: Any) -> dict[str, int]:
    """The files of the log, oldest first."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW BINARY LOGS")
        return {str(row[0]): int(row[1]) for row in cursor.fetchall()}


def global_variables(connection: Any, names: Sequence[str]) -> dict[str, str]:
    """The values of these variables, as far as the server has them."""
    with connection.cursor() as cursor:
        wanted = ", ".join(["%s"] * len(names))
        cursor.execute(f"SHOW GLOBAL VARIABLES WHERE variable_name IN ({wanted})", list(names))
        return {str(name): str(value) for name, value in cursor.fetchall()}


def fraction_digits(connection: Any, table: TableName) -> dict[str, int]:
    """The number of fractional digits of a table's temporal columns."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT column_name, datetime_precision FROM information_schema.columns
                WHERE table_schema = %s AND table_name = %s AND datetime_precision IS NOT NULL""",
            (table.schema, table.name),
        )
        return {str(name): int(digits) for name, digits in cursor.fetchall()}


def _end(connection: Any) -> tuple[str, int, str]:
    """File, offset, and the GTIDs if the server reports them with it (MySQL)."""
    import pymysql

    try:
        row = _row(connection, "SHOW MASTER STATUS")
    except pymysql.MySQLError as error:
        if code_of(error) != SYNTAX:
            raise
        row = _row(connection, "SHOW BINARY LOG STATUS")  # since MySQL 8.4
    if not row:
        raise UnsupportedError("the server has no binary log", "start it with log_bin, and binlog_format = ROW")
    return str(row[0]), int(row[1]), str(row[4]) if len(row) > 4 else ""


def _row(connection: Any, statement: str, *parameters: Any) -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters or None)
        return cursor.fetchone() or ()
