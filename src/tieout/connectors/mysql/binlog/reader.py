"""Turns the events of a log into changes, up to a given position."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tieout.connectors.mysql.binlog import codes
from tieout.connectors.mysql.binlog.ddl_effects import redefined, unread
from tieout.connectors.mysql.binlog.ddl_tokens import NotCheckable, Rules
from tieout.connectors.mysql.binlog.events import Event, EventStream
from tieout.connectors.mysql.binlog.rollbacks import OpenLog, Rollbacks
from tieout.connectors.mysql.binlog.statements import Meaning, Query, meaning, query_of, savepoint, truncated
from tieout.connectors.mysql.binlog.tables import Layouts, Tables, Wanted
from tieout.connectors.mysql.binlog.transactions import Groups, lineage_of
from tieout.connectors.mysql.binlog.xa import LastRead, TwoParts
from tieout.errors import ReadError, UnreachableError, UnsupportedError
from tieout.model.positions import Position, commit_of
from tieout.model.row_changes import Begin, Commit, Emptied, LogItem, Reached, Rows, Statement
from tieout.model.tables import TableName

_NEVER = 1 << 64


class Until:
    """Compares positions with the one to stop at. It parses a file's name only once."""

    def __init__(self, position: Position) -> None:
        self._number, self._offset = position.place
        self._file = ""
        self._least = _NEVER

    def reached(self, file: str, end: int) -> bool:
        if file != self._file:
            number = int(file.rpartition(".")[2])
            self._file = file
            self._least = self._offset if number == self._number else 0 if number > self._number else _NEVER
        return end >= self._least

    def passed(self, file: str, end: int) -> bool:
        """Whether the position lies after it."""
        return self.reached(file, end - 1)


_REFUSED = {
    codes.PARTIAL_UPDATE: ("the log has parts of JSON values", "SET GLOBAL binlog_row_value_options = ''"),
    codes.TRANSACTION_PAYLOAD: (
        "the log has compressed transactions",
        "SET GLOBAL binlog_transaction_compression = OFF",
    ),
}
_NAMES = frozenset({codes.GTID, codes.MYSQL_GTID})


class Reader:
    """Turns the events after the end of a transaction into items. `open_log` opens the log for a second read."""

    def __init__(
        self,
        events: EventStream,
        wanted: Wanted,
        layouts: Layouts,
        open_log: OpenLog,
        last: LastRead | None = None,
    ) -> None:
        self._events = events
        self._wanted = wanted
        self._charsets = layouts.charsets
        self._mariadb = layouts.mariadb
        self._tables = Tables(wanted, layouts)
        self._groups = Groups()
        self._rollbacks = Rollbacks(open_log, self._tables)
        self._two_parts = TwoParts(events, open_log, self._tables, self._refuse_changes, last or LastRead())
        self._announced = False
        self._moments: dict[str, str] = {}

    def items(self, upto: Position) -> Iterator[LogItem]:
        """Ends with the transaction that reaches `upto`, and with the position that was reached."""
        until, groups = Until(upto), self._groups
        before = begin = self._events.offset
        for event in self._events:
            kind, when, _, end, body = event
            if kind == codes.TABLE_MAP:
                self._tables.add(body)
            elif kind in codes.ROWS:
                if rows := self._rows(kind, body):
                    yield from self._begun(begin)
                    yield rows
            elif kind == codes.GTID and until.reached(self._events.file, end):
                self._two_parts.leave(begin)
                yield self._reached(upto, "")  # the next transaction
                return
            else:
                if kind in _NAMES:
                    self._moments[lineage_of(kind, body)] = str(when)
                ended = groups.ends_with(event)
                for item in self._other_items(event, before):
                    yield from self._begun(begin)
                    yield item
                file = self._events.file
                if ended and self._announced:
                    if until.passed(file, end):
                        raise ReadError(f"{upto} is not the end of a transaction")
                    self._announced = False
                    yield Commit(self._events.at(end), groups.name, when * 1_000_000)
                if kind == codes.GTID or not groups.open:
                    begin = end
                if not groups.open and until.reached(file, end):
                    self._two_parts.leave(begin)
                    yield self._reached(upto, self._events.tail)
                    return
            before = end
        raise UnreachableError(f"the server's log ends before {upto}: it lost its end, or the server started a new log")

    def _reached(self, upto: Position, tail: str) -> Reached:
        return Reached(upto.of_log(self._events.log, tail=tail, commit=commit_of(self._moments)))

    def _begun(self, begin: int) -> Iterator[LogItem]:
        """A transaction's Begin, before the first of its items."""
        if not self._announced:
            self._announced = True
            yield Begin(self._events.at(begin), self._groups.name, late=self._groups.gtid.completed)

    def _rows(self, kind: int, body: bytes) -> Rows | None:
        if self._groups.gtid.prepared:
            self._two_parts.add(kind, body)
            return None
        return self._tables.rows(kind, body)

    def _other_items(self, event: Event, before: int) -> Iterable[LogItem]:
        """Items of an event that holds neither rows nor a table map. `before` is where the event starts."""
        kind, *_, end, body = event
        gtid = self._groups.gtid
        if self._groups.query is not None:
            return self._query_items(self._groups.query, before, end)
        if kind == codes.GTID:
            self._rollbacks.begin(end)
            if gtid.prepared:
                self._two_parts.begin(gtid.xid, self._events.file, before)
        elif kind == codes.EXECUTE_LOAD:
            self._refuse_changes(query_of(kind, body))
        elif kind == codes.XA_PREPARE:
            if body[0]:  # in one phase: prepared and committed
                return self._two_parts.committed(gtid.xid, self._groups.name, self._events.file, before)
        elif kind == codes.INCIDENT:
            raise ReadError("the server could not write all changes to its log", "copy the tables again")
        elif kind in _REFUSED:
            raise UnsupportedError(*_REFUSED[kind])
        elif kind not in codes.SILENT and kind not in codes.TOLD:
            raise UnsupportedError(f"the log has an event of an unknown kind: {kind}")
        return ()

    def _query_items(self, query: Query, before: int, end: int) -> Iterable[LogItem]:
        try:
            text = self._text(query)
        except NotCheckable:
            return self._unparsed_items(query)
        # In most character sets the ASCII bytes of a text are ASCII; where they are not, Groups may have misread it.
        rules = Rules(query.sql_mode, self._mariadb)
        meant = self._groups.meant if query.raw.isascii() and self._mariadb else meaning(text, rules)
        if meant is Meaning.TRUNCATE:
            return self._truncated(query, text, rules)
        if meant is Meaning.OTHER:
            return () if self._groups.gtid.undone else (self._statement(query, text, rules),)
        if meant is Meaning.ROWS:
            self._refuse_changes(query, text)
            return ()
        if meant in (Meaning.XA_START, Meaning.XA_COMMIT, Meaning.XA_ROLLBACK):
            return self._of_two_parts(meant, before)
        return self._of_rollbacks(meant, text, rules, before, end)

    def _of_two_parts(self, meant: Meaning, before: int) -> Iterable[LogItem]:
        xid, file = self._groups.gtid.xid, self._events.file
        if meant is Meaning.XA_COMMIT:
            return self._two_parts.committed(xid, self._groups.name, file, before)
        if meant is Meaning.XA_START:
            self._two_parts.begin(xid, file, before)
        else:
            self._two_parts.rolled_back(xid)
        return ()

    def _of_rollbacks(self, meant: Meaning, text: str, rules: Rules, before: int, end: int) -> Iterable[LogItem]:
        if meant is Meaning.BEGIN:
            self._rollbacks.begin(end)
        elif meant is Meaning.SAVEPOINT:
            self._rollbacks.savepoint(savepoint(text, rules), end)
        elif meant is Meaning.ROLLBACK_TO and self._groups.gtid.prepared:
            self._two_parts.undo()
        elif meant is Meaning.ROLLBACK_TO and self._announced:
            return self._rollbacks.undo_to(savepoint(text, rules), self._events.file, before)
        elif meant is Meaning.ROLLBACK and self._announced:
            return self._rollbacks.undo(self._events.file, before)
        return ()

    def _truncated(self, query: Query, text: str, rules: Rules) -> Iterable[LogItem]:
        found = truncated(text, rules)
        if found is None:
            return (self._statement(query, text, rules),)
        schema, name = found
        table = self._wanted.named(TableName(schema or query.schema, name))
        return (Emptied(table),) if table else ()

    def _statement(self, query: Query, text: str, rules: Rules) -> Statement:
        return Statement(query.schema, text, redefined(text, query.schema, self._wanted, rules))

    def _unparsed_items(self, query: Query) -> Iterable[LogItem]:
        text = query.raw.decode(errors="replace")
        if self._groups.meant is Meaning.ROWS:
            self._refuse_changes(query, text)
        return (Statement(query.schema, text, unread(text, self._wanted)),)

    def _refuse_changes(self, query: Query, text: str | None = None) -> None:
        if self._wanted.concerns(query, text):
            shown = query.raw.decode(errors="replace") if text is None else text
            raise UnsupportedError(
                f"the log has a statement that changes rows, and not the changed rows: {shown[:100]}",
                "SET GLOBAL binlog_format = ROW; what was logged before can't be read",
            )

    def _text(self, query: Query) -> str:
        """The text of a statement. NotCheckable if it is invalid, and its ASCII bytes may be parts of characters."""
        if query.raw.isascii():
            return query.text
        decoding = self._charsets.decoding(query.collation)
        try:
            return decoding.text(query.raw)
        except UnicodeDecodeError:
            if not decoding.keeps_ascii:
                raise NotCheckable("it is not valid text in the character set of its client") from None
            return decoding.text(query.raw, "replace")
