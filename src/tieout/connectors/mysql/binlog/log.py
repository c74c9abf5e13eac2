"""The binary log as a change log. It finds the ends of transactions without decoding a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.binlog.continuity import identified, resumed
from tieout.connectors.mysql.binlog.dump import dumped, log_behind
from tieout.connectors.mysql.binlog.events import EventStream
from tieout.connectors.mysql.binlog.reader import Reader
from tieout.connectors.mysql.binlog.server import end_of_log, file_sizes, gtids_at, position
from tieout.connectors.mysql.binlog.tables import Wanted, layouts_of
from tieout.connectors.mysql.binlog.transactions import Groups, GtidState
from tieout.connectors.mysql.binlog.xa import last_read
from tieout.connectors.mysql.session import MySQLSession
from tieout.connectors.protocols.change_log import LogCoverage, LogLag
from tieout.errors import LogLostError, UnreachableError
from tieout.model.positions import Position
from tieout.model.row_changes import LogItem, Reached
from tieout.model.tables import TableName


def transaction_ends(events: EventStream, gtids: str | None, most_bytes: int, most: int) -> list[Position]:
    """Up to `most` ends, each at least `most_bytes` after the one before; the very last may be nearer.

    `gtids` are those reached where the events start; None if unknown.
    """
    groups, reached = Groups(), GtidState.of(gtids or "")

    def at(file: str, end: int) -> Position:
        return position(file, end, "" if gtids is None else str(reached)).of_log(logs[file])

    logs: dict[str, str] = {}
    ends: list[Position] = []
    size, before, last = 0, events.offset, None
    for event in events:
        end = event[3]
        size += max(end - before, 0) if before else 0  # nothing where a file starts
        before = end
        if not groups.ends_with(event):
            continue
        reached.add(groups.gtid.text or groups.mysql_gtid)
        logs[events.file] = events.log
        if size < most_bytes:
            last = events.file, end
            continue
        ends.append(at(events.file, end))
        size, last = 0, None
        if len(ends) == most:
            return ends
    if last:
        ends.append(at(*last))
    return ends


@dataclass(frozen=True, slots=True)
class BinlogLog:
    """The binary log of a MariaDB or MySQL server, of all its schemas. A ChangeLog.

    It needs binlog_format = ROW and binlog_row_metadata = FULL. With another binlog_row_image than FULL, KEPT in an
    inserted row stands for the column's default. The log does not have what a foreign key's ON DELETE or ON UPDATE does
    to other tables.

    Values are int, float, str, bytes or None; what Python has no exact form for is text: dates and times
    (TIMESTAMP in UTC), DECIMAL with all its digits, BIT as 0 and 1, labels. The log does not distinguish UUID, INET6
    and INET4 from BINARY: their values are bytes, in the order that their text shows.
    """

    url: EndpointUrl

    def now(self) -> Position:
        with closing(MySQLSession(self.url)) as session:
            return identified(self.url, end_of_log(session))

    def resume(self, after: Position, held: Sequence[Position] = ()) -> Position:
        found = resumed(self.url, after)
        if found == after and held:
            with closing(MySQLSession(self.url)) as session:
                sizes = file_sizes(session)
            for place in held:
                if place.offset > sizes.get(place.file, 0):
                    raise LogLostError(
                        f"{self.url.redacted()}: rows were copied at {place}, but the log ends before that",
                        "the server was restored from an earlier copy: drop the task, empty its tables and start over",
                    )
        return found

    def ends(self, after: Position, most_bytes: int, most: int) -> list[Position]:
        with closing(MySQLSession(self.url)) as session:
            now = end_of_log(session)
            rest = self._bytes_between(session, after, now)
            if rest <= most_bytes:
                return [self._of_file(now, after)] if rest else []
            gtids = after.gtids or gtids_at(session, after)
        with log_behind(self.url, after) as dump:
            # After many restarts, the rest may be long and hold no transaction.
            return transaction_ends(dump.events, gtids, most_bytes, most) or [self._of_file(now, after)]

    def _of_file(self, now: Position, after: Position) -> Position:
        """The position with the identity of its file. If the file is the same, whoever reads it checks its identity."""
        return now.of_log(after.log) if now.file == after.file else identified(self.url, now)

    def read(self, after: Position, upto: Position, tables: frozenset[TableName]) -> Iterator[LogItem]:
        if after.place == upto.place and after.file == upto.file:
            yield Reached(upto.of_log(upto.log, tail=after.tail, commit=after.commit))
            return
        with log_behind(self.url, after) as dump:
            wanted, layouts = Wanted(tables, dump.folded), layouts_of(self.url, dump.mariadb)
            open_log = partial(dumped, self.url)
            yield from Reader(dump.events, wanted, layouts, open_log, last_read(self.url)).items(upto)

    def lag(self, applied: Position) -> LogLag:
        with closing(MySQLSession(self.url)) as session:
            return LogLag(self._bytes_between(session, applied, end_of_log(session)))

    def coverage(self, tables: Sequence[TableName]) -> LogCoverage:
        """The log has every statement."""
        return LogCoverage()

    def confirm(self, position: Position) -> None:
        """Does nothing: how long the server keeps its log is a setting, the same for all readers."""

    def _bytes_between(self, session: MySQLSession, after: Position, now: Position) -> int:
        """Bytes of the log after a position. UnreachableError if the server cannot have this position."""
        if after.file == now.file:
            rest = now.offset - after.offset
        else:
            sizes = file_sizes(session)
            names = list(sizes)
            if after.file not in sizes or now.file not in sizes:
                raise UnreachableError(f"{self.url.redacted()}: the log no longer has the file {after.file}")
            later = names[names.index(after.file) + 1 : names.index(now.file)]
            rest = sizes[after.file] - after.offset + sum(sizes[name] for name in later) + now.offset
        if rest < 0:
            raise UnreachableError(f"{self.url.redacted()}: the log ends at {now}, before {after}")
        return rest
