"""Events of a log as changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tieout.connectors.mysql.binlog import kinds
from tieout.connectors.mysql.binlog.definitions import redefined
from tieout.connectors.mysql.binlog.events import Event, EventStream
from tieout.connectors.mysql.binlog.groups import Groups
from tieout.connectors.mysql.binlog.layout import Layouts
from tieout.connectors.mysql.binlog.queries import Query, query_of
from tieout.connectors.mysql.binlog.rollbacks import OpenLog, Rollbacks
from tieout.connectors.mysql.binlog.statements import Meaning, truncated
from tieout.connectors.mysql.binlog.tables import Tables
from tieout.connectors.mysql.binlog.until import Until
from tieout.connectors.mysql.binlog.wanted import Wanted
from tieout.errors import ReadError, UnreachableError, UnsupportedError
from tieout.model.changes import Begin, Commit, Emptied, LogItem, Reached, Rows, Statement
from tieout.model.positions import Position
from tieout.model.tables import TableName

_REFUSED = {
    kinds.PARTIAL_UPDATE: ("the log has parts of JSON values", "SET GLOBAL binlog_row_value_options = ''"),
    kinds.TRANSACTION_PAYLOAD: (
        "the log has compressed transactions",
        "SET GLOBAL binlog_transaction_compression = OFF",
    ),
}
_NAMES = frozenset({kinds.GTID, kinds.MYSQL_GTID})


class Reader:
    """Turns the events behind a transaction's end into items. `open_log` is for what has to be read again."""

    def __init__(self, events: EventStream, wanted: Wanted, layouts: Layouts, open_log: OpenLog) -> None:
        self._events = events
        self._wanted = wanted
        self._charsets = layouts.charsets
        self._tables = Tables(wanted, layouts)
        self._groups = Groups()
        self._rollbacks = Rollbacks(open_log, self._tables)
        self._told = False
        self._at = 0
        self._harmless: set[bytes] = set()

    def items(self, upto: Position) -> Iterator[LogItem]:
        """Ends with the transaction that reaches `upto`, and with the place that was reached."""
        until, groups = Until(upto), self._groups
        before = begin = self._events.offset
        for event in self._events:
            kind, when, _, end, body = event
            if kind == kinds.TABLE_MAP:
                self._tables.add(body)
            elif kind in kinds.ROWS:
                if rows := self._rows(kind, body):
                    yield from self._begun(begin)
                    yield rows
            elif kind == kinds.GTID and until.reached(self._events.file, end):
                yield self._reached(upto, "")  # the next transaction
                return
            else:
                if kind in _NAMES:
                    self._at = when
                ended = groups.ends_with(event)
                for item in self._others(event, before):
                    yield from self._begun(begin)
                    yield item
                file = self._events.file
                if ended and self._told:
                    if until.passed(file, end):
                        raise ReadError(f"{upto} is not the end of a transaction")
                    self._told = False
                    yield Commit(self._events.at(end), groups.name, when * 1_000_000)
                if kind == kinds.GTID or not groups.open:
                    begin = end
                if not groups.open and until.reached(file, end):
                    yield self._reached(upto, self._events.tail)
                    return
            before = end
        raise UnreachableError(f"the server's log ends before {upto}: it has lost its end, or was begun anew")

    def _reached(self, upto: Position, tail: str) -> Reached:
        commit = str(self._at) if self._at else ""
        return Reached(upto.of_log(self._events.log, tail=tail, commit=commit))

    def _begun(self, begin: int) -> Iterator[LogItem]:
        """A transaction's Begin, before the first of its items."""
        if not self._told:
            self._told = True
            yield Begin(self._events.at(begin), self._groups.name)

    def _rows(self, kind: int, body: bytes) -> Rows | None:
        rows = self._tables.rows(kind, body)
        if rows and self._groups.gtid.prepared:
            raise UnsupportedError(f"{rows.table.name}: XA transaction {self._groups.name} is in the log in two parts")
        return rows

    def _others(self, event: Event, before: int) -> Iterable[LogItem]:
        """What is neither rows nor their tables. `before` is where the event begins."""
        kind, end, body = event[0], event[3], event[4]
        if self._groups.query is not None:
            return self._asked(self._groups.query, before, end)
        if kind == kinds.GTID:
            self._rollbacks.begin(end)
        elif kind == kinds.EXECUTE_LOAD:
            self._refuse_changes(query_of(kind, body))
        elif kind == kinds.XA_PREPARE:
            self._harmless.add(self._groups.gtid.xid)
        elif kind == kinds.INCIDENT:
            raise ReadError("the server could not write all changes to its log", "copy the tables again")
        elif kind in _REFUSED:
            raise UnsupportedError(*_REFUSED[kind])
        elif kind not in kinds.SILENT and kind not in kinds.TOLD:
            raise UnsupportedError(f"the log has an event of a kind that is not known: {kind}")
        return ()

    def _asked(self, query: Query, before: int, end: int) -> Iterable[LogItem]:
        meant, gtid = self._groups.meant, self._groups.gtid
        if meant is Meaning.TRUNCATE:
            return self._truncated(query)
        if meant is Meaning.OTHER:
            return () if gtid.undone else (self._statement(query),)
        if meant in (Meaning.ROLLBACK, Meaning.ROLLBACK_TO) and self._told:
            return self._rollbacks.undo(self._text(query), self._events.file, before)
        if meant is Meaning.BEGIN:
            self._rollbacks.begin(end)
        elif meant is Meaning.SAVEPOINT:
            self._rollbacks.savepoint(self._text(query), end)
        elif meant is Meaning.ROWS:
            self._refuse_changes(query)
        elif meant is Meaning.XA_COMMIT and gtid.xid not in self._harmless:
            raise UnsupportedError(f"XA transaction {self._groups.name} is in the log in two parts, the first far away")
        return ()

    def _truncated(self, query: Query) -> Iterable[LogItem]:
        found = truncated(self._text(query))
        if found is None:
            return (self._statement(query),)
        schema, name = found
        table = self._wanted.named(TableName(schema or query.schema, name))
        return (Emptied(table),) if table else ()

    def _statement(self, query: Query) -> Statement:
        text = self._text(query)
        return Statement(query.schema, text, redefined(text, query.schema, self._wanted))

    def _refuse_changes(self, query: Query) -> None:
        if self._wanted.concerns(query):
            raise UnsupportedError(
                f"the log has a statement that changes rows instead of the rows: {self._text(query)[:100]}",
                "SET GLOBAL binlog_format = ROW; what was logged before can't be read",
            )

    def _text(self, query: Query) -> str:
        if query.raw.isascii():
            return query.text
        try:
            return self._charsets.decoding(query.collation).text(query.raw)
        except UnicodeDecodeError:
            return query.raw.decode(errors="replace")
