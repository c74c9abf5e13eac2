"""XA transactions, which the log has in two parts: the prepared changes, and later, perhaps far away, their outcome.

Prepared changes take effect where they are committed. Few rows wait in memory for that; many are read again from the
log. A part that lies before everything that a reader has read is searched for backwards, file by file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.binlog import codes
from tieout.connectors.mysql.binlog.dump import NotThere
from tieout.connectors.mysql.binlog.events import EventStream
from tieout.connectors.mysql.binlog.rollbacks import OpenLog
from tieout.connectors.mysql.binlog.statements import Meaning, Query, query_of
from tieout.connectors.mysql.binlog.tables import Tables
from tieout.connectors.mysql.binlog.transactions import Groups
from tieout.errors import LogLostError
from tieout.model.positions import Position
from tieout.model.row_changes import Redefined, Rows, Statement
from tieout.model.tables import TableName

_MOST_HELD = 16 << 20
"""Most bytes of events that wait in memory, of all open transactions together."""
_FIRST = 4

Waiting = tuple[bytes, int, bytes]
"""A table map, and the kind and the body of an event with rows."""


@dataclass
class Prepared:
    """A prepared part: where it starts, and its wanted rows; None if they have to be read again.

    `undone`: it rolled back some of its own changes.
    """

    file: str
    begin: int
    waiting: list[Waiting] | None = None
    undone: bool = False

    @property
    def size(self) -> int:
        return sum(len(body) for _, _, body in self.waiting or ())


@dataclass(frozen=True, slots=True)
class ReadEnd:
    """Where a read ended, and the prepared parts that are open there.

    `log` is the identity of the file: another one may have its name.
    """

    file: str = ""
    offset: int = 0
    log: str = ""
    parts: Mapping[bytes, tuple[str, int]] = field(default_factory=dict)


@dataclass
class LastRead:
    """Where the last read ended: a later read searches for parts from there, not from the start of a file."""

    end: ReadEnd = field(default_factory=ReadEnd)


@lru_cache(maxsize=8)
def last_read(url: EndpointUrl) -> LastRead:
    """The last read in this process: without it, or far from it, a search takes longer and finds the same."""
    return LastRead()


class TwoParts:
    """Tracks the XA transactions of one read."""

    def __init__(
        self,
        events: EventStream,
        open_log: OpenLog,
        tables: Tables,
        refuse: Callable[[Query], None],
        last: LastRead,
    ) -> None:
        """`refuse` raises if a statement that changes rows concerns a wanted table."""
        self._events = events
        self._open_log = open_log
        self._tables = tables
        self._refuse = refuse
        self._last = last
        self._open: dict[bytes, Prepared] = {}
        self._part = Prepared("", 0)
        self._held = 0

    def begin(self, xid: bytes, file: str, offset: int) -> None:
        """A prepared part starts here."""
        self._part = self._open[xid] = Prepared(file, offset, [])

    def add(self, kind: int, body: bytes) -> None:
        """Adds rows to the part that is being prepared."""
        described = self._tables.described(body)
        if described is None or self._part.waiting is None:
            return
        self._part.waiting.append((described, kind, body))
        self._held += len(body)
        if self._held > _MOST_HELD:
            self._held -= self._part.size
            self._part.waiting = None

    def undo(self) -> None:
        """The part that is being prepared rolls back some of its changes."""
        self._part.undone = True

    def committed(self, xid: bytes, name: str, file: str, begin: int) -> Iterator[Rows | Statement]:
        """The prepared changes, where their commit starts."""
        part = self._ended(xid) or self._looked_up(xid, name, file, begin)
        touched: set[TableName] = set()
        for rows in self._rows(part):
            touched.add(rows.table.name)
            yield rows
        if part.undone and touched:
            reason = f"XA transaction {name} rolled back changes before it was prepared, which is not supported"
            stopped = (Redefined(table, reason=reason) for table in sorted(touched, key=str))
            yield Statement("", "XA COMMIT", tuple(stopped))

    def rolled_back(self, xid: bytes) -> None:
        self._ended(xid)

    def leave(self, offset: int) -> None:
        """A read ends here."""
        parts = {xid: (part.file, part.begin) for xid, part in self._open.items()}
        self._last.end = ReadEnd(self._events.file, offset, self._events.log, parts)

    def _ended(self, xid: bytes) -> Prepared | None:
        part = self._open.pop(xid, None)
        if part is not None:
            self._held -= part.size
        return part

    def _rows(self, part: Prepared) -> Iterator[Rows]:
        if part.waiting is not None:
            yield from (self._tables.decoded(*event) for event in part.waiting)
            return
        groups = Groups()
        with self._open_log(Position(f"{part.file}:{part.begin}")) as dump:
            for event in dump.events:
                kind, body = event[0], event[4]
                if kind == codes.TABLE_MAP:
                    self._tables.add(body)
                elif kind in codes.ROWS:
                    if rows := self._tables.rows(kind, body):
                        yield rows
                elif kind == codes.EXECUTE_LOAD:
                    self._refuse(query_of(kind, body))
                elif groups.ends_with(event):
                    return
                elif groups.query is not None and groups.meant is Meaning.ROWS:
                    self._refuse(groups.query)
                elif groups.query is not None and groups.meant is Meaning.ROLLBACK_TO:
                    part.undone = True

    def _looked_up(self, xid: bytes, name: str, file: str, end: int | None) -> Prepared:
        """The last part of this name before an offset."""
        last, base, number = self._last.end, file.rpartition(".")[0], int(file.rpartition(".")[2])
        if end is not None and last.file == file and last.offset <= end and last.log == self._events.log:
            self._note(self._open_at(file, last.offset, end, dict(last.parts)))
        while (part := self._ended(xid)) is None:
            try:
                self._note(self._open_at(file, _FIRST, end, {}))
            except NotThere:
                raise LogLostError(
                    f"XA transaction {name} was prepared in a part of the log that is gone: its changes are unknown",
                    "drop the task, empty its tables and start over",
                ) from None
            number -= 1
            file, end = f"{base}.{number:06}", None
        return part

    def _note(self, parts: dict[bytes, tuple[str, int]]) -> None:
        for xid, place in parts.items():
            self._open.setdefault(xid, Prepared(*place))

    def _open_at(
        self, file: str, begin: int, end: int | None, parts: dict[bytes, tuple[str, int]]
    ) -> dict[bytes, tuple[str, int]]:
        """The transactions that are open at an offset of a file, or at its end, if `parts` are open where it starts."""
        groups, before = Groups(), begin
        with self._open_log(Position(f"{file}:{begin}")) as dump:
            for event in dump.events:
                if dump.events.file != file or (end is not None and event[3] > end):
                    break
                groups.ends_with(event)
                gtid, has_query = groups.gtid, groups.query is not None
                if has_query and gtid.completed:
                    parts.pop(gtid.xid, None)
                elif gtid.prepared and (event[0] == codes.GTID or (has_query and groups.meant is Meaning.XA_START)):
                    parts[gtid.xid] = file, before
                before = event[3]
        return parts
