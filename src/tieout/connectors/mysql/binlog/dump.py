"""Reads the log as a server sends it to its replicas (COM_BINLOG_DUMP)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.binlog.codes import FORMAT
from tieout.connectors.mysql.binlog.events import EventStream
from tieout.connectors.mysql.binlog.server import is_mariadb
from tieout.connectors.mysql.errors import NO_SUCH_LOG_POSITION, code_of, translated
from tieout.connectors.mysql.protocol.commands import start_log_dump
from tieout.connectors.mysql.protocol.packets import log_packets
from tieout.connectors.mysql.session import MySQLSession
from tieout.errors import UnreachableError
from tieout.model.positions import Position

_OFFSETS = 1 << 32
_SILENCE = 300
"""Seconds after which a server that sends nothing counts as dead: it has everything that it was asked for."""

_SETTINGS = """SET @master_binlog_checksum = @@GLOBAL.binlog_checksum, @mariadb_slave_capability = 4,
    SESSION net_write_timeout = 86400"""
"""Asks for events as they are in the files, with GTIDs, and lets the reader pause as long as it has to."""


class NotThere(Exception):
    """The server has no such file, no such position in it, or other events there."""


@dataclass(frozen=True, slots=True)
class Dump:
    """`folded`: the server ignores case in table names."""

    events: EventStream
    mariadb: bool
    folded: bool


@contextmanager
def log_behind(url: EndpointUrl, after: Position) -> Iterator[Dump]:
    """The log from the end of a transaction to its present end.

    UnreachableError if the server no longer has this position, or it belongs to another log: continuity.resumed may
    find its transactions at another position.
    """
    try:
        with dumped(url, after) as dump:
            yield dump
    except NotThere as reason:
        raise UnreachableError(f"{url.redacted()}: {after} is not in the server's log: {reason}") from None


@contextmanager
def dumped(url: EndpointUrl, after: Position) -> Iterator[Dump]:
    """Like log_behind. NotThere unless the server's file is the one of the position, as far as the position tells."""
    with translated(url), ExitStack() as stack:
        yield _started(stack, url, after)


def _started(stack: ExitStack, url: EndpointUrl, after: Position) -> Dump:
    import pymysql

    begin = int(after.tail.partition(".")[0]) if after.tail else after.offset
    if begin >= _OFFSETS:
        raise NotThere("its file is longer than a replica can request")
    session = stack.enter_context(closing(MySQLSession(url)))
    checksum, folded = _prepared(session)
    start_log_dump(session.connection, after.file, begin, url.read_timeout or _SILENCE)
    events = EventStream(log_packets(session.connection), checksums=checksum == "CRC32")
    try:
        _require(events, after)
    except pymysql.MySQLError as error:
        if code_of(error) != NO_SUCH_LOG_POSITION:
            raise
        raise NotThere(error.args[1]) from None
    return Dump(events, is_mariadb(session), folded=bool(int(folded)))


def _require(events: EventStream, after: Position) -> None:
    """Reads the events before the position; the next event is the first one after it."""
    for kind, *_ in events:
        if kind == FORMAT:
            if after.log and events.log != after.log:
                raise NotThere("its file of this name is another file")
            if not after.tail:
                return
        elif events.tail:
            if events.tail == after.tail:
                return
            if events.offset >= after.offset:
                raise NotThere("another event lies before this position")
    raise NotThere("the log ends before it")


def _prepared(session: MySQLSession) -> tuple[str, str]:
    session.execute(_SETTINGS)
    ((checksum, folded),) = session.rows("SELECT @@GLOBAL.binlog_checksum, @@GLOBAL.lower_case_table_names")
    return checksum, folded
