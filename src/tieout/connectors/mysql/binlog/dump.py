"""Dumps: the log as a server sends it to its replicas."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from random import randrange
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.binlog.events import EventStream
from tieout.connectors.mysql.binlog.gtids import goes_back
from tieout.connectors.mysql.binlog.packets import packets
from tieout.connectors.mysql.binlog.server import is_mariadb
from tieout.connectors.mysql.faults import translated
from tieout.connectors.mysql.session import connect
from tieout.errors import LogLostError
from tieout.model.positions import Position

_NO_SUCH_PLACE = 1236
_UNTIL_ITS_END = 1
_OFFSETS = 1 << 32
_FIRST = 4
_SILENCE = 300
"""Seconds after which a server that sends nothing is taken for dead: it has all it is asked for."""

_SETTINGS = """SET @master_binlog_checksum = @@GLOBAL.binlog_checksum, @mariadb_slave_capability = 4,
    SESSION net_write_timeout = 86400"""
"""Events as they are in the files, with GTIDs. And the reader may pause as long as it has to."""


class _Lost(Exception):
    """The server has no such file, or no such place in it."""


@dataclass(frozen=True, slots=True)
class Dump:
    """`by_gtids`: it began behind the GTIDs of a position, because the server does not have its file.

    `folded`: the server takes names in any case for the same table.
    """

    events: EventStream
    mariadb: bool
    folded: bool
    by_gtids: bool = False


@contextmanager
def log_behind(url: EndpointUrl, after: Position) -> Iterator[Dump]:
    """The log from a transaction's end to where it ends by now. Raises LogLostError if the server lacks some of it."""
    with translated(url), ExitStack() as stack:
        try:
            dump = _started(stack, url, after)
        except _Lost as lost:
            if not after.gtids:
                raise _log_lost(url, after, lost) from None
            try:
                dump = _started(stack, url, after, by_gtids=True)
            except _Lost as lost_too:
                raise _log_lost(url, after, lost_too) from None
        yield dump


def _log_lost(url: EndpointUrl, after: Position, lost: _Lost) -> LogLostError:
    return LogLostError(
        f"{url.redacted()}: the log no longer reaches back to {after}: {lost}",
        "drop the task, empty its tables and begin anew; keep the log for longer (binlog_expire_logs_seconds)",
    )


def _started(stack: ExitStack, url: EndpointUrl, after: Position, by_gtids: bool = False) -> Dump:
    import pymysql

    if after.offset >= _OFFSETS and not by_gtids:
        raise _Lost("its file is longer than a replica can ask for")
    connection = stack.enter_context(closing(connect(url)))
    checksum, folded = _prepared(connection, after.gtids if by_gtids else "")
    _ask(connection, *(("", _FIRST) if by_gtids else (after.file, after.offset)))
    connection._sock.settimeout(url.read_timeout or _SILENCE)
    sent = packets(connection)
    try:
        first = list(islice(sent, 1))
    except pymysql.MySQLError as error:
        if error.args[0] != _NO_SUCH_PLACE:
            raise
        raise _Lost(error.args[1]) from None
    events = EventStream(chain(first, sent), checksums=checksum == "CRC32")
    return Dump(events, is_mariadb(connection), folded=bool(int(folded)), by_gtids=by_gtids)


def _prepared(connection: Any, gtids: str) -> tuple[str, str]:
    with connection.cursor() as cursor:
        cursor.execute(_SETTINGS)
        if gtids:
            cursor.execute("SELECT @@GLOBAL.gtid_current_pos")
            (known,) = cursor.fetchone()
            # A server sends all it has of a domain that is new to it, as if nothing had gone before.
            if goes_back(gtids, known):
                raise _Lost(f"the server has reached {known or 'no GTID'}")
            cursor.execute("SET @slave_connect_state = %s", (gtids,))
        cursor.execute("SELECT @@GLOBAL.binlog_checksum, @@GLOBAL.lower_case_table_names")
        checksum, folded = cursor.fetchone()
        return checksum, folded


def _ask(connection: Any, file: str, offset: int) -> None:
    from pymysql.constants.COMMAND import COM_BINLOG_DUMP

    # Two replicas with one number throw each other out; high numbers are nobody's.
    replica = randrange(1 << 31, (1 << 32) - 1)
    head = offset.to_bytes(4, "little") + _UNTIL_ITS_END.to_bytes(2, "little") + replica.to_bytes(4, "little")
    connection._execute_command(COM_BINLOG_DUMP, head + file.encode())
