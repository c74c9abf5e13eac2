"""The binary log as a change log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.changelog import LogLag, Watched
from tieout.connectors.mysql.binlog.dump import log_behind
from tieout.connectors.mysql.binlog.gtids import goes_back
from tieout.connectors.mysql.binlog.layout import layouts_of
from tieout.connectors.mysql.binlog.reader import Reader
from tieout.connectors.mysql.binlog.scan import transaction_ends
from tieout.connectors.mysql.binlog.server import end_of_log, file_sizes, gtids_at
from tieout.connectors.mysql.binlog.wanted import Wanted
from tieout.connectors.mysql.binlog.xa import last_read
from tieout.connectors.mysql.faults import translated
from tieout.connectors.mysql.session import connect
from tieout.errors import LogLostError
from tieout.model.changes import LogItem
from tieout.model.positions import Position
from tieout.model.tables import TableName


@dataclass(frozen=True, slots=True)
class BinlogLog:
    """The binary log of a MariaDB or MySQL server, of all its schemas. A ChangeLog.

    It needs binlog_format = ROW and binlog_row_metadata = FULL. With another binlog_row_image than FULL, KEPT in an
    inserted row stands for the column's default. What a foreign key's ON DELETE or ON UPDATE does to other tables is
    not in the log.

    Values are int, float, str, bytes or None; texts are what Python has no exact form for: dates and times
    (TIMESTAMP in UTC), DECIMAL with all its digits, BIT as 0 and 1, labels. The log does not tell UUID, INET6 and
    INET4 from BINARY: their values are bytes, in the order that their text shows.
    """

    url: EndpointUrl

    def now(self) -> Position:
        with translated(self.url), closing(connect(self.url)) as connection:
            return end_of_log(connection)

    def ends(self, after: Position, most_bytes: int, most: int) -> list[Position]:
        with translated(self.url), closing(connect(self.url)) as connection:
            now = end_of_log(connection)
            rest = self._bytes_between(connection, after, now)
            if rest is not None and rest <= most_bytes:
                return [now] if rest else []
            gtids = after.gtids or gtids_at(connection, after)
        with log_behind(self.url, after) as dump:
            # What is left may be long and without a transaction, after many restarts.
            return transaction_ends(dump.events, gtids, most_bytes, most) or [now]

    def read(self, after: Position, upto: Position, tables: frozenset[TableName]) -> Iterator[LogItem]:
        if after.place == upto.place and after.file == upto.file:
            return
        with log_behind(self.url, after) as dump:
            if dump.by_gtids:
                self._know(upto)
            wanted, layouts = Wanted(tables, dump.folded), layouts_of(self.url, dump.mariadb)
            reader = Reader(dump.events, wanted, layouts, partial(log_behind, self.url), last_read(self.url))
            # By GTIDs, the server leaves out what lies before them, and that may reach as far as `upto`.
            yield from reader.items(upto, whole=not dump.by_gtids)

    def lag(self, applied: Position) -> LogLag:
        with translated(self.url), closing(connect(self.url)) as connection:
            return LogLag(self._bytes_between(connection, applied, end_of_log(connection)) or 0)

    def watched(self, tables: Sequence[TableName]) -> Watched:
        """The log has every statement."""
        return Watched()

    def confirm(self, position: Position) -> None:
        """The server keeps its log for as long as it is set to, for all."""

    def _bytes_between(self, connection: Any, after: Position, now: Position) -> int | None:
        """What the log has behind a position; None if the server has no file of this name."""
        if after.file == now.file:
            rest = now.offset - after.offset
        else:
            sizes = file_sizes(connection)
            if after.file not in sizes:
                return None
            names = list(sizes)
            later = names[names.index(after.file) + 1 : names.index(now.file)]
            rest = sizes[after.file] - after.offset + sum(sizes[name] for name in later) + now.offset
        if rest < 0 or goes_back(after.gtids, now.gtids):
            raise LogLostError(
                f"{self.url.redacted()}: the log was begun anew: it ends at {now}, and {after} was reached before",
                "drop the task, empty its tables and begin anew",
            )
        return rest

    def _know(self, upto: Position) -> None:
        """Places in the logs of two servers don't compare: one whose file is not here would never come, or at once."""
        with translated(self.url), closing(connect(self.url)) as connection:
            if upto.offset > file_sizes(connection).get(upto.file, 0):
                raise LogLostError(f"{self.url.redacted()}: {upto} is not a place in this server's log")
