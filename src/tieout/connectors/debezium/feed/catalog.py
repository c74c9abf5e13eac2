"""Which tables a feed has: found by reading its events, since nothing else describes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tieout.config.urls import EndpointUrl
from tieout.connectors.debezium.feed.events import BadLine, Event, Field, LineParser, Shape, is_blank
from tieout.connectors.debezium.feed.files import Feed, Walk, feed_of, translated
from tieout.connectors.debezium.feed.repeats import Place
from tieout.connectors.debezium.types import TEMPORAL
from tieout.errors import UnreachableError
from tieout.model.positions import Position
from tieout.model.tables import TableName
from tieout.model.types import LogicalType

_MOST_BAD = 5
_STAND_INS: tuple[Any, ...] = (0, "", "{}", False, "00000000-0000-0000-0000-000000000000")
"""What events of PostgreSQL have in place of a default that is computed."""


@dataclass(frozen=True, slots=True)
class Added:
    """A column that a table got within the feed, at an offset. `known`: it is known what earlier rows got in it.

    `place`: that of the first event that has it.
    """

    field: Field
    since: int
    known: bool
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class FeedTable:
    """A table as its events describe it. `fields` are those of the last shape.

    `key`: None if no event has one. `types`: each column's first type; later events must have the same.
    `dropped`, `retyped`: columns that lost or changed their types within the feed. `origin`: where its first event is
    from (Event.origin). `mixed`: others are from elsewhere.
    """

    name: TableName
    fields: tuple[Field, ...]
    key: tuple[str, ...] | None
    types: Mapping[str, LogicalType] = field(default_factory=dict)
    added: tuple[Added, ...] = ()
    dropped: tuple[str, ...] = ()
    retyped: tuple[str, ...] = ()
    rekeyed: bool = False
    origin: tuple[str, str, str] = ("", "", "")
    mixed: bool = False

    def is_repeat(self, event: Event) -> bool:
        """Whether an event, the next one, has an earlier schema because it comes again."""
        assert event.shape is not None
        newest = self.added[-1] if self.added else None
        lacks = any(each.field.name not in event.shape.names for each in self.added)
        return lacks and newest is not None and comes_again(event, newest.place)

    def with_shape(self, event: Event, shape: Shape, since: int, *, trusted: bool) -> FeedTable:
        """`trusted`: a column's default did not change between when it was added and its first event."""
        gone = tuple(each.name for each in self.fields if each.name not in shape.names)
        new = [each for each in shape.fields if each.name not in self.types]
        changed = tuple(
            each.name
            for each in shape.fields
            if each.name in self.types and not alike(self.types[each.name], each.type)
        )
        return replace(
            self,
            fields=shape.fields,
            types={**self.types, **{each.name: each.type for each in new}},
            added=(
                *self.added,
                *(Added(each, since, trusted and _is_known(each, event.connector), event.place) for each in new),
            ),
            dropped=tuple(dict.fromkeys((*self.dropped, *gone))),
            retyped=tuple(dict.fromkeys((*self.retyped, *changed))),
        )

    def with_key(self, key: tuple[str, ...] | None) -> FeedTable:
        if not key or key == self.key:
            return self
        return replace(self, key=key) if self.key is None else replace(self, rekeyed=True)


def comes_again(event: Event, newest: Place | None) -> bool:
    """Whether the source has an event before the one at `newest`, which the feed had earlier."""
    return event.place is not None and newest is not None and event.place.precedes(newest)


def alike(first: LogicalType, later: LogicalType) -> bool:
    """Whether values of the two mean the same. An ENUM may get more labels."""
    return (first.name, first.precision, first.scale) == (later.name, later.precision, later.scale)


def _is_known(added: Field, connector: str) -> bool:
    """Whether its schema tells what existing rows got in a new column."""
    if added.default is not None:
        return connector != "postgresql" or (added.default not in _STAND_INS and added.type.name not in TEMPORAL)
    # DEFAULT CURRENT_TIMESTAMP is not told.
    return added.nullable and added.type.name not in TEMPORAL


def given_keys(url: EndpointUrl) -> dict[str, tuple[str, ...]]:
    """The keys that the URL names, by table: orders:id,lines:order_id+number."""
    pairs = (item.split(":") for item in url.params.get("key", "").split(",") if item)
    return {table: tuple(columns.split("+")) for table, columns in pairs}


@dataclass
class Catalog:
    """What was found so far; `look` reads what was added since.

    `bad`: lines that are not events, each as file:line and why. `schema`: that of the first event.
    """

    url: EndpointUrl
    tables: dict[TableName, FeedTable] = field(default_factory=dict)
    bad: list[tuple[str, BadLine]] = field(default_factory=list)
    schema: str = ""
    events: int = 0
    _parser: LineParser = field(default_factory=LineParser)
    _shapes: dict[TableName, Shape] = field(default_factory=dict)
    _reached: Position = field(default_factory=lambda: Position("0"))
    _line: tuple[str, int] = ("", 0)

    def look(self) -> Catalog:
        feed = feed_of(self.url)
        try:
            with translated(self.url):
                self._read(feed, Walk(feed, self._reached))
        except UnreachableError:
            fresh = Catalog(self.url)  # what was read before is not there any more: `resume` has an error for it
            with translated(self.url):
                fresh._read(feed, Walk(feed))
            self.__dict__.update(fresh.__dict__)
        return self

    def _read(self, feed: Feed, walk: Walk) -> None:
        end = feed.end()
        starts = {file.start: file.path.name for file in feed.files}
        offset = walk.offset
        for line in walk.lines(end):
            name, number = self._line
            self._line = (starts[offset], 1) if offset in starts else (name, number + 1)
            self._note(line, offset)
            offset = walk.offset
        self._reached = walk.position

    def _note(self, line: bytes, offset: int) -> None:
        if is_blank(line):
            return
        try:
            event = self._parser.parse(line)
        except BadLine as bad:
            if len(self.bad) < _MOST_BAD:
                self.bad.append((f"{self._line[0]}:{self._line[1]}", bad))
            return
        finally:
            self.schema = self._parser.schema
        if event is not None:
            self.events += 1
            self._note_event(event, offset)

    def _note_event(self, event: Event, offset: int) -> None:
        shape = event.shape
        if shape is None:
            return
        table = self.tables.get(event.table)
        if table is None:
            types = {each.name: each.type for each in shape.fields}
            table = FeedTable(event.table, shape.fields, None, types, origin=event.origin)
        elif event.origin != table.origin:
            self.tables[event.table] = replace(table, mixed=True)
            return
        elif self._shapes.get(event.table) is not shape:
            if table.is_repeat(event):
                return
            trusted = self.url.params.get("added_columns") == "default"
            table = table.with_shape(event, shape, offset, trusted=trusted)
        elif event.key is None or event.key == table.key:
            return
        self._shapes[event.table] = shape
        self.tables[event.table] = table.with_key(event.key)

    def key_of(self, table: FeedTable) -> tuple[str, ...]:
        given = given_keys(self.url)
        return given.get(str(table.name)) or given.get(table.name.name) or table.key or ()


_CATALOGS: dict[str, Catalog] = {}


def catalog_of(url: EndpointUrl) -> Catalog:
    """The catalog of a feed at this moment. Kept: a mover asks for it from several places."""
    return _CATALOGS.setdefault(url.reveal(), Catalog(url)).look()
