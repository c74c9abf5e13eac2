"""A feed as a change log. Each event is a change of its own: a feed tells no transactions.

An event may come again later, and its row may be there already, or be gone. So an event writes its whole row, whatever
was there, and nobody counts what it finds (Begin.repeats).
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import md5
from typing import Any
from uuid import UUID

from tieout.config.urls import EndpointUrl
from tieout.connectors.debezium.feed.catalog import Added, FeedTable, alike, catalog_of, comes_again
from tieout.connectors.debezium.feed.events import (
    CREATED,
    DELETED,
    READ,
    TRUNCATED,
    UPDATED,
    BadLine,
    Event,
    Field,
    LineParser,
    Shape,
    is_blank,
)
from tieout.connectors.debezium.feed.files import Walk, feed_of, translated
from tieout.connectors.debezium.feed.repeats import Place
from tieout.connectors.debezium.types import json_text
from tieout.connectors.protocols.change_log import LogCoverage, LogLag
from tieout.errors import ReadError
from tieout.model.positions import Position
from tieout.model.row_changes import (
    KEPT,
    Begin,
    ChangeKind,
    Commit,
    Emptied,
    Image,
    LogItem,
    LogTable,
    Reached,
    Redefined,
    Rows,
    Statement,
)
from tieout.model.tables import TableName
from tieout.model.types import LogicalType

UNAVAILABLE = "__debezium_unavailable_value"
"""What Debezium writes for a large value that did not change, unless its configuration has another text."""

_TRUNCATE = re.compile(rb'\\*"op\\*"\s*:\s*\\*"t\\*"')
_MOST_ROWS = 500
_KINDS = {
    CREATED: ChangeKind.INSERT,
    READ: ChangeKind.INSERT,
    UPDATED: ChangeKind.UPDATE,
    DELETED: ChangeKind.DELETE,
}


@dataclass(frozen=True, slots=True)
class _Known:
    """What the driver knows of a table, for executors.

    `added`: columns that the table got within the feed: the first offset that has each, what earlier rows got in it,
    and the place of the first event that has it. A column is left out if that value is unknown: the
    mover notices that its events lack it, or got it. `origin`: where its events are from.
    """

    key: tuple[str, ...]
    told_key: tuple[str, ...] | None
    types: Mapping[str, LogicalType]
    added: tuple[tuple[str, int, Any, Place | None], ...]
    origin: tuple[str, str, str]


@dataclass(frozen=True)
class DebeziumLog:
    """A ChangeLog. Positions count bytes (feed.files)."""

    url: EndpointUrl
    known: Mapping[TableName, _Known]

    def now(self) -> Position:
        return Position(str(feed_of(self.url).end()))

    def resume(self, after: Position, held: Sequence[Position] = ()) -> Position:
        """The feed has to be as it was: nothing else has its events. Chunks hold none of them."""
        feed_of(self.url).proven(after)
        return after

    def ends(self, after: Position, most_bytes: int, most: int) -> list[Position]:
        """Each begins where a table is emptied, too: what was staged before need not be taken back."""
        feed = feed_of(self.url)
        end = feed.end()
        found: list[Position] = []
        if end <= after.offset:
            return []
        with translated(self.url):
            walk = Walk(feed, after)
            while walk.offset < end and len(found) < most:
                goal = min(walk.offset + most_bytes, end)
                for _ in walk.lines(end, until=_empties):
                    if walk.offset >= goal:
                        break
                found.append(walk.position)
        return found

    def read(self, after: Position, upto: Position, tables: frozenset[TableName]) -> Iterator[LogItem]:
        feed = feed_of(self.url)
        with translated(self.url):
            walk = Walk(feed, after)
        reading = _Reading(self.known, tables, _unavailable(self.url), feed.where)
        lines = walk.lines(upto.offset)
        begin = walk.offset
        while True:
            with translated(self.url):
                line = next(lines, None)
            if line is None:
                break
            yield from reading.items(line, begin, walk.offset)
            begin = walk.offset
        yield from reading.flush()
        yield Reached(walk.position)

    def lag(self, applied: Position) -> LogLag:
        return LogLag(max(0, feed_of(self.url).end() - applied.offset))

    def coverage(self, tables: Sequence[TableName]) -> LogCoverage:
        """Nothing: whatever happens to a table is in its events."""
        return LogCoverage()

    def confirm(self, position: Position) -> None:
        """Nothing: the files belong to whoever writes them."""


def _empties(line: bytes) -> bool:
    """Whether a line may be an event that empties a table. If it is another, a batch ends early."""
    return (b'"t"' in line or b'\\"t\\"' in line) and _TRUNCATE.search(line) is not None


def log_of(url: EndpointUrl) -> DebeziumLog:
    catalog = catalog_of(url)
    return DebeziumLog(url, {name: _known(table, catalog.key_of(table)) for name, table in catalog.tables.items()})


def _known(table: FeedTable, key: tuple[str, ...]) -> _Known:
    values = [(added, *added_value(added)) for added in table.added]
    added = tuple((each.field.name, each.since, value, each.place) for each, value, known in values if known)
    return _Known(key, table.key, table.types, added, table.origin)


def added_value(added: Added) -> tuple[Any, bool]:
    """What earlier rows have in an added column, and whether that is known."""
    if not added.known:
        return None, False
    if added.field.default is None:
        return None, True
    try:
        return added.field.decode(added.field.default), True
    except (ValueError, TypeError, KeyError, OverflowError):
        return None, False


def _unavailable(url: EndpointUrl) -> frozenset[str]:
    """What stands for a value that an event leaves out: a text, or the JSON of an array or a map. Each type has a form
    of its own that it can hold.
    """
    text = url.params.get("unavailable_value", UNAVAILABLE)
    octets = text.encode()
    texts = [text, b64encode(octets).decode(), octets.hex()]
    uuid = str(UUID(bytes=md5(octets, usedforsecurity=False).digest(), version=3))
    # Java's bytes are signed.
    numbers = [octet - 256 if octet > 127 else octet for octet in octets]
    return frozenset([*texts, *(json_text(each) for each in (*([t] for t in texts), [uuid], numbers, {text: text}))])


_UNAVAILABLE_SHAPES = frozenset(
    b64encode(bytes.fromhex(wkb)).decode()
    for wkb in (
        "0101000020E6100000000000FC83D797C1000000FC83D797C1",
        "0101000020E61000000C21E7FDFF7F66401842CEFBFF7F5640",
    )
)
"""Points that stand for a geometry and a geography that an event leaves out: no text can."""


@dataclass(slots=True, eq=False)
class _Plan:
    """How to read the events of one shape of a table. `problem`: why they can't be followed."""

    table: LogTable
    fields: tuple[Field, ...]
    key: tuple[Field, ...]
    added: tuple[Any, ...] = ()
    problem: Redefined | None = None


@dataclass
class _Reading:
    """Turns lines into items. Changes of one kind that follow each other in one table become one Rows."""

    known: Mapping[TableName, _Known]
    tables: frozenset[TableName]
    unavailable: frozenset[str]
    where: Any
    _parser: LineParser = field(default_factory=LineParser)
    _plans: dict[tuple[TableName, Shape, tuple[str, ...] | None, int, object], _Plan] = field(default_factory=dict)
    _tables: dict[tuple[TableName, tuple[str, ...]], LogTable] = field(default_factory=dict)
    _plan: _Plan | None = None
    _kind: ChangeKind = ChangeKind.INSERT
    _rows: list[Image] = field(default_factory=list)
    _before: list[Image | None] = field(default_factory=list)
    _whole: bool = True
    _begin: int = 0
    _end: int = 0
    _last: Event | None = None

    def items(self, line: bytes, begin: int, end: int) -> Iterator[LogItem]:
        try:
            event = None if is_blank(line) else self._parser.parse(line)
        except BadLine as bad:
            yield from self.flush()
            raise ReadError(f"{self.where(begin)}: the line is not an event: {bad.reason}", bad.fix) from None
        if event is None or event.table not in self.tables:
            return
        if self._comes_again(event, begin):
            return
        if event.op == TRUNCATED:
            yield from self.flush()
            unclear = _of_another_origin(event, self.known.get(event.table)) or self._unclear(event, begin)
            item = Emptied(event.table) if unclear is None else Statement(event.table.schema, "", (unclear,))
            yield from _alone(event, item, begin, end)
            return
        plan = self._planned(event, begin)
        kind = _KINDS[event.op]
        if plan is not self._plan or kind is not self._kind or len(self._rows) >= _MOST_ROWS:
            yield from self.flush()
            self._plan, self._kind, self._begin = plan, kind, begin
        problem = plan.problem or self._add(plan, event, begin)
        if problem is not None:
            yield from self.flush()
            yield from _alone(event, Statement(event.table.schema, "", (problem,)), begin, end)
            return
        self._end, self._last = end, event

    def _comes_again(self, event: Event, begin: int) -> bool:
        """Whether an event of an earlier schema comes again. If those are left out, so is an earlier TRUNCATE: what
        followed it would not come back.
        """
        newest = self._newest(event, begin)
        if newest is None or not comes_again(event, newest):
            return False
        if event.shape is None:
            return True
        earlier = [added for added in self.known[event.table].added if added[1] <= begin]
        return any(added[0] not in event.shape.names for added in earlier)

    def _unclear(self, event: Event, begin: int) -> Redefined | None:
        newest = self._newest(event, begin)
        if newest is None or event.place is None or not event.place.contradicts(newest):
            return None
        reason = f"{self.where(begin)}: it was truncated, and it is unknown whether that came again"
        return Redefined(event.table, reason=reason)

    def _newest(self, event: Event, begin: int) -> Place | None:
        """The place of the first event with the newest column at an offset."""
        known = self.known.get(event.table)
        earlier = [] if known is None else [added for added in known.added if added[1] <= begin]
        return earlier[-1][3] if earlier else None

    def flush(self) -> Iterator[LogItem]:
        if self._rows and self._plan is not None and self._last is not None:
            begin, commit = _ends(self._last, self._begin, self._end)
            before = self._before if any(row is not None for row in self._before) else None
            yield begin
            yield Rows(self._plan.table, self._kind, self._rows, before, self._whole)
            yield commit
        self._rows, self._before, self._whole, self._plan = [], [], True, None

    def _add(self, plan: _Plan, event: Event, begin: int) -> Redefined | None:
        """Takes the event's row; returns what keeps its table from being followed, if it can't be read."""
        try:
            if event.op == DELETED:
                row = _of_key(plan, event.before or {})
                self._whole = False
            else:
                row = self._image(plan, event.after or {}, literal=event.op == READ)
                if event.op == CREATED and KEPT in row:
                    raise _without_value(plan.fields[row.index(KEPT)])
            before = _old_key(plan, event.before, row) if event.op == UPDATED else None
        except _Unreadable as wrong:
            return Redefined(event.table, reason=f"{self.where(begin)}: {wrong}")
        self._rows.append(row)
        self._before.append(before)
        return None

    def _image(self, plan: _Plan, row: Mapping[str, Any], *, literal: bool) -> Image:
        """`literal`: a row that was read as a whole, in which a text that stands for others is a text."""
        values: list[Any] = []
        for column in plan.fields:
            value = row.get(column.name, column)
            if value is None:
                if column in plan.key:
                    raise _without_key(column)
                values.append(None)
            elif not literal and self._is_kept(value):
                values.append(KEPT)
                self._whole = False
            else:
                values.append(_decoded(column, value))
        return (*values, *plan.added)

    def _is_kept(self, value: Any) -> bool:
        if type(value) is dict and value.get("wkb") in _UNAVAILABLE_SHAPES:
            return True
        if type(value) in (list, dict):
            with suppress(ValueError):  # the column's own reader says what is wrong with it
                value = json_text(value)
        return type(value) is str and value in self.unavailable

    def _planned(self, event: Event, begin: int) -> _Plan:
        assert event.shape is not None
        known = self.known.get(event.table)
        later = () if known is None else tuple(added for added in known.added if added[1] > begin)
        identity = event.table, event.shape, event.key, len(later), event.origin
        plan = self._plans.get(identity)
        if plan is None:
            plan = self._plans[identity] = self._made(event, event.shape, known, later)
        return plan

    def _made(self, event: Event, shape: Shape, known: _Known | None, later: Sequence[Any]) -> _Plan:
        missing = [added for added in later if added[0] not in shape.names]
        names = (*shape.names, *(added[0] for added in missing))
        table = self._tables.setdefault((event.table, names), LogTable(event.table, names))
        key = known.key if known is not None else event.key or ()
        plan = _Plan(
            table,
            shape.fields,
            tuple(each for each in shape.fields if each.name in key),
            tuple(added[2] for added in missing),
        )
        plan.problem = _problem(event, shape, known)
        return plan


def _problem(event: Event, shape: Shape, known: _Known | None) -> Redefined | None:
    """Why events of a shape can't be followed: what their table was is another thing than what it is."""
    if known is None:
        return None
    if (other := _of_another_origin(event, known)) is not None:
        return other
    changed = tuple(
        each.name for each in shape.fields if each.name in known.types and not alike(known.types[each.name], each.type)
    )
    if changed:
        return Redefined(event.table, changed=changed)
    if event.key and known.told_key and event.key != known.told_key:
        return Redefined(event.table, reason="the key of its events was changed")
    lost = [name for name in known.key if name not in shape.names]
    if lost:
        return Redefined(event.table, dropped=tuple(lost))
    return None


def _of_another_origin(event: Event, known: _Known | None) -> Redefined | None:
    """Two databases may each have a table of that name: they are two tables."""
    if known is None or event.origin == known.origin:
        return None
    first, other = (", ".join(part or "none" for part in origin) for origin in (known.origin, event.origin))
    reason = f"its events are of two databases (connector, server and database: {first}; and {other})"
    return Redefined(event.table, reason=reason)


class _Unreadable(Exception):
    """A row that can't be taken; the message says why, without a value."""


def _without_key(column: Field) -> _Unreadable:
    return _Unreadable(f"its column {column.name} is NULL, and belongs to the key, which must identify a row")


def _without_value(column: Field) -> _Unreadable:
    # Whatever the target has under the new key is another row's.
    return _Unreadable(
        f"its column {column.name} was left out of a row that got another key; REPLICA IDENTITY FULL would tell it"
    )


def _decoded(column: Field, value: Any) -> Any:
    try:
        return column.decode(value)
    except (ValueError, TypeError, KeyError, OverflowError, ArithmeticError):
        raise _Unreadable(f"its column {column.name} has no value of type {column.type}") from None


def _of_key(plan: _Plan, row: Mapping[str, Any]) -> Image:
    """A deleted row. Nothing but its key is certain: what the source did not log comes as NULL, or as a zero."""
    values = [_key_value(column, row) if column in plan.key else KEPT for column in plan.fields]
    return (*values, *(KEPT for _ in plan.added))


def _key_value(column: Field, row: Mapping[str, Any]) -> Any:
    value = row.get(column.name)
    if value is None:
        raise _without_key(column)
    return _decoded(column, value)


def _old_key(plan: _Plan, before: Mapping[str, Any] | None, row: Image) -> Image | None:
    """The old row of an update, if it had another key. Debezium writes a delete and an insert then; others may not."""
    if not before or any(before.get(column.name) is None for column in plan.key):
        return None
    old = _of_key(plan, before)
    return None if all(a == b for a, b in zip(old, row, strict=True) if a is not KEPT) else old


def _alone(event: Event, item: LogItem, begin: int, end: int) -> Iterator[LogItem]:
    first, last = _ends(event, begin, end)
    yield first
    yield item
    yield last


def _ends(event: Event, begin: int, end: int) -> tuple[Begin, Commit]:
    name = event.transaction or str(end)
    return Begin(Position(str(begin)), name, repeats=True), Commit(Position(str(end)), name, event.at)
