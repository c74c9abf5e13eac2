"""Commands of the MySQL protocol that pymysql does not offer, or offers only in a slower form."""

from __future__ import annotations

from collections.abc import Iterable
from random import randrange
from typing import Any

from tieout.connectors.mysql.protocol.packets import skip_definitions

_BLOCK_BYTES = 1 << 20
_UNTIL_ITS_END = 1


def start_query(connection: Any, statement: str) -> None:
    """Runs a query in the text protocol; its rows follow on the connection."""
    from pymysql.constants.COMMAND import COM_QUERY

    connection._execute_command(COM_QUERY, statement)
    skip_definitions(connection, connection._read_packet().read_length_encoded_integer())


def start_prepared_query(connection: Any, statement: str) -> None:
    """Runs a query in the binary protocol, which pymysql does not speak; its rows follow on the connection."""
    from pymysql.constants.COMMAND import COM_STMT_EXECUTE, COM_STMT_PREPARE

    connection._execute_command(COM_STMT_PREPARE, statement)
    prepared = connection._read_packet().get_all_data()
    columns, parameters = (int.from_bytes(prepared[at : at + 2], "little") for at in (5, 7))
    for count in (parameters, columns):
        skip_definitions(connection, count)
    no_cursor, once = b"\0", (1).to_bytes(4, "little")
    connection._execute_command(COM_STMT_EXECUTE, prepared[1:5] + no_cursor + once)
    skip_definitions(connection, connection._read_packet().read_length_encoded_integer())


def load_local(connection: Any, statement: str, blocks: Iterable[bytes]) -> tuple[int, int, int] | None:
    """Runs LOAD DATA LOCAL with these blocks of lines: lines sent, rows written, warnings. None: the server refuses."""
    from pymysql.constants.COMMAND import COM_QUERY
    from pymysql.protocol import OKPacketWrapper

    sent = 0
    connection._execute_command(COM_QUERY, statement)
    if not connection._read_packet().is_load_local_packet():
        return None
    try:
        for block in blocks:
            sent += block.count(b"\n")
            for start in range(0, len(block), _BLOCK_BYTES):
                connection.write_packet(block[start : start + _BLOCK_BYTES])
    except BaseException:
        # The server would take what it has got for the whole file.
        connection._force_close()
        raise
    connection.write_packet(b"")
    answer = OKPacketWrapper(connection._read_packet())
    return sent, int(answer.affected_rows), int(answer.warning_count)


def write_rows(connection: Any, statement: bytes) -> tuple[int, list[tuple[str, int, str]]]:
    """Runs a statement that is bytes already: rows written, and the server's warnings."""
    written = int(connection.query(statement))
    return written, list(connection.show_warnings()) if connection._result.warning_count else []


def start_log_dump(connection: Any, file: str, offset: int, silence: float) -> None:
    """Asks for the binary log from here to its present end; its events follow on the connection.

    A server that sends nothing for `silence` seconds is taken for dead.
    """
    from pymysql.constants.COMMAND import COM_BINLOG_DUMP

    # Two replicas with one number throw each other out; nobody has such high numbers.
    replica = randrange(1 << 31, (1 << 32) - 1)
    head = offset.to_bytes(4, "little") + _UNTIL_ITS_END.to_bytes(2, "little") + replica.to_bytes(4, "little")
    connection._execute_command(COM_BINLOG_DUMP, head + file.encode())
    connection._sock.settimeout(silence)
