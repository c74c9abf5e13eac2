"""Reads chunks of MySQL tables without locks: each in a snapshot of its own, whose position in the log is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.binlog.continuity import identified
from tieout.connectors.mysql.binlog.server import end_of_log
from tieout.connectors.mysql.connection import AT_ONE_MOMENT, PATIENT
from tieout.connectors.mysql.dialect import MySQLDialect
from tieout.connectors.mysql.move.copy_values import rendered, texts_of, unreadable
from tieout.connectors.mysql.protocol.rows import tab_lines
from tieout.connectors.mysql.server_kind import ServerKind
from tieout.connectors.mysql.session import MySQLSession
from tieout.connectors.protocols.move import TextOf, canonical_keys, key_scan
from tieout.connectors.sql import select
from tieout.errors import ReadError, UnsupportedError
from tieout.model.keys import Key, KeyRange
from tieout.model.moves import Held, Transfer
from tieout.model.positions import Position


@dataclass(frozen=True)
class MySQLChunkSource:
    """`watermarks`: the server does not report the position of a snapshot in its log."""

    url: EndpointUrl
    server_kind: ServerKind
    watermarks: bool

    @contextmanager
    def reading(self) -> Iterator[MySQLChunkReader]:
        with closing(MySQLSession(self.url, settings=PATIENT)) as session:
            begin = _begin_between_watermarks if self.watermarks else _begin
            held = _identified(self.url, begin(session))
            yield MySQLChunkReader(self.url, session, MySQLDialect(self.server_kind), held)

    def texts(self, transfer: Transfer, *, same_engine: bool) -> Sequence[TextOf]:
        return texts_of(transfer)

    def chunks_of(self, transfer: Transfer, bounds: Sequence[Key], keys: Sequence[Key]) -> list[int]:
        statement = select.places_among(
            MySQLDialect(self.server_kind), key_scan(transfer), bounds, canonical_keys(transfer, keys)
        )
        with closing(MySQLSession(self.url)) as session:
            return [int(count) for _, count in session.rows(statement)]


@dataclass(frozen=True)
class MySQLChunkReader:
    url: EndpointUrl
    session: MySQLSession
    dialect: MySQLDialect
    held: Held

    def lines(self, transfer: Transfer, keys: KeyRange, *, same_engine: bool) -> Iterator[bytes]:
        columns, fields = rendered(self.dialect, transfer)
        condition = select.within(self.dialect, key_scan(transfer), keys)
        rows = f"FROM {self.dialect.table(transfer.source.name)}{f' WHERE {condition}' if condition else ''}"
        # Translated here: whoever takes the lines would mistake an error for its own.
        self._refuse_unreadable(transfer, rows)
        with self.session.translated():
            yield from tab_lines(self.session.connection, f"SELECT {columns} {rows}", fields)

    def _refuse_unreadable(self, transfer: Transfer, rows: str) -> None:
        """Raises before the server sends invalid text as question marks."""
        found = [(column, unreadable(self.dialect, column)) for column in transfer.source_columns]
        doubtful = [(column, condition) for column, condition in found if condition is not None]
        if not doubtful:
            return
        (counts,) = self.session.rows(f"SELECT {', '.join(f'SUM({condition})' for _, condition in doubtful)} {rows}")
        for (column, _), count in zip(doubtful, counts, strict=True):
            if count:
                name = f"{transfer.source.name}.{column.name}"
                raise ReadError(f"{self.url.redacted()}: {name}: {count:,} texts are not valid {column.charset}")


def _identified(url: EndpointUrl, held: Held) -> Held:
    """Adds the identity of the log: after a failover, positions of another log must not compare with it."""
    settled = held.settled and identified(url, held.settled)
    return replace(held, position=identified(url, held.position), settled=settled)


def _begin(session: MySQLSession) -> Held:
    """Starts a snapshot, and returns its position in the log.

    Under another isolation level than REPEATABLE READ, the server would silently start none.
    """
    for statement in AT_ONE_MOMENT:
        session.execute(statement)
    status = {name.lower(): value for name, value in session.rows("SHOW STATUS LIKE 'binlog\\_snapshot\\_%'")}
    file, offset = status.get("binlog_snapshot_file"), status.get("binlog_snapshot_position")
    if not file:
        raise UnsupportedError("the server does not report a snapshot's position in its binary log", "MariaDB does")
    return Held(Position(f"{file}:{offset}"))


WATERMARK_TABLE = "tieout_watermark"


def _begin_between_watermarks(session: MySQLSession) -> Held:
    """Starts a snapshot between two watermarks: it sees everything before the lower, and nothing after the upper.

    A transaction is in the binary log before it is visible, so the log's end does not tell what a snapshot sees. But
    commits become visible in the order of the log (binlog_order_commits): once a row of our own is committed,
    everything before it in the log is visible. And what a snapshot sees was in the log when it started.
    """
    ((ordered,),) = session.rows("SELECT @@GLOBAL.binlog_order_commits" if _orders(session) else "SELECT 1")
    if not int(ordered):
        raise UnsupportedError("binlog_order_commits is off, so the position of a snapshot is unknown", "turn it on")
    low = end_of_log(session)
    columns = "id INT PRIMARY KEY, n BIGINT NOT NULL"
    session.execute(f"CREATE TABLE IF NOT EXISTS {WATERMARK_TABLE} ({columns}) ENGINE = InnoDB")
    session.execute(f"INSERT INTO {WATERMARK_TABLE} VALUES (1, 1) ON DUPLICATE KEY UPDATE n = n + 1")
    for statement in AT_ONE_MOMENT:
        session.execute(statement)
    return Held(low, settled=end_of_log(session))


def drop_watermark(session: MySQLSession) -> None:
    session.execute(f"DROP TABLE IF EXISTS {WATERMARK_TABLE}")


def _orders(session: MySQLSession) -> bool:
    """Whether the server has the variable; MariaDB always commits in the order of its log, and does not."""
    return bool(session.rows("SHOW GLOBAL VARIABLES LIKE 'binlog\\_order\\_commits'"))
