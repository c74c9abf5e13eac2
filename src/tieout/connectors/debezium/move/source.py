"""A feed of change events as a source. Its files are its log; it has nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from tieout.config.urls import EndpointUrl
from tieout.connectors.debezium import quoting
from tieout.connectors.debezium.feed.catalog import Catalog, FeedTable, catalog_of
from tieout.connectors.debezium.feed.log import DebeziumLog, added_value, log_of
from tieout.connectors.debezium.move.chunks import BEGINNING, DebeziumChunkSource
from tieout.connectors.protocols.finish import DatabaseObject, Definition
from tieout.connectors.protocols.move import TypeChanges
from tieout.connectors.sql.ddl import Reference, Structure, Wiring
from tieout.errors import UnsupportedError
from tieout.model.moves import Consistency
from tieout.model.positions import Position
from tieout.model.preflight import Problem, Retention, Severity
from tieout.model.tables import Column, Table, TableName

_NO_KEY = "its events have no key, and events may come more than once: rows would be duplicated"


_TRUST = (
    "?added_columns=default takes the default that the first event with a column tells, which is right unless it was "
    "changed in between"
)


def open_source(url: EndpointUrl) -> DebeziumSource:
    return DebeziumSource(url)


@dataclass(frozen=True)
class DebeziumSource:
    keeps_position: ClassVar[bool] = False
    logs_generated_columns: ClassVar[bool] = True
    # Events may come again, and nobody knows where a transaction ends: only each row is as it was.
    level: ClassVar[Consistency] = Consistency.ROW
    type_changes: ClassVar[TypeChanges] = TypeChanges.UNSEEN

    url: EndpointUrl

    def chunk_source(self) -> DebeziumChunkSource:
        return DebeziumChunkSource()

    def structure(self, table: Table) -> Structure:
        raise UnsupportedError(f"{table.name}: a feed of events can't be a target")

    def wiring(self, table: Table) -> Wiring:
        return Wiring()

    def added_column_values(
        self, table: Table, columns: Sequence[Column], logged: Mapping[str, str | None] | None
    ) -> dict[str, str | None]:
        """Events tell what rows got only as far as their schema has the column's default."""
        added = {each.field.name: each for each in catalog_of(self.url).tables[table.name].added}
        given: dict[str, str | None] = {}
        for column in columns:
            value, known = added_value(added[column.name]) if column.name in added else (None, False)
            if not known or isinstance(value, bytes):
                raise UnsupportedError(
                    f"{table.name}: its events do not tell what rows got in its new column {column.name}", _TRUST
                )
            given[column.name] = quoting.text(value) if isinstance(value, str) else _number(value)
        return given

    def problems(self, task: str, tables: Sequence[Table]) -> list[Problem]:
        catalog = catalog_of(self.url)
        reasons = ((table, self.refuses(table)) for table in tables)
        fix = "name the columns that identify a row in the URL: ?key=TABLE:COLUMN+COLUMN,TABLE:COLUMN"
        found = [Problem(Severity.PREVENTS, reason, fix, table=str(table.name)) for table, reason in reasons if reason]
        notes = (note for table in tables for note in _notes(catalog.tables[table.name]))
        return [*self._of_feed(catalog), *found, *notes]

    def _of_feed(self, catalog: Catalog) -> Iterator[Problem]:
        if not catalog.events and not catalog.bad:
            message = f"{self.url.redacted()} has no events yet, so its tables are unknown"
            yield Problem(Severity.PREVENTS, message, "files of events end in .json, .jsonl or .ndjson")
        for place, bad in catalog.bad:
            yield Problem(Severity.PREVENTS, f"{place}: the line is not an event: {bad.reason}", bad.fix)

    def retention(self, task: str) -> Retention:
        return Retention(None, None, "the files have to stay as they are as long as the task exists")

    def type_catalog(self, task: str) -> None:
        """The log itself reports changed types, or there are none."""

    def collation_of(self, table: Table) -> str | None:
        return None

    def refuses(self, table: Table) -> str | None:
        return None if table.key else _NO_KEY

    def whole_rows(self, table: Table) -> str | None:
        return None

    def catalog(self) -> FeedCatalog:
        return FeedCatalog()

    def begin_log(self, task: str, tables: Sequence[TableName]) -> Position:
        return BEGINNING

    def add_tables(self, task: str, tables: Sequence[TableName]) -> None:
        """Does nothing: the feed has the changes of all tables."""

    def hand_over(self, joining: str, task: str, tables: Sequence[TableName]) -> None:
        """Does nothing: each event says what its columns are."""

    def log(self, task: str) -> DebeziumLog:
        return log_of(self.url)

    def drop_task(self, task: str) -> None:
        """Nothing was left here."""


class FeedCatalog:
    """What events say of their database besides rows and columns: nothing."""

    def objects(self, schemas: Sequence[str], tables: Sequence[TableName]) -> list[DatabaseObject]:
        return []

    def definitions(self, table: Table) -> list[Definition]:
        return []

    def references(self, table: Table) -> list[Reference]:
        return []

    def following(self, table: Table) -> dict[str, int]:
        return {}

    def blind_spots(self) -> list[str]:
        return ["events do not tell what else their database has: indexes, constraints, views, routines, grants"]

    def close(self) -> None:
        """Nothing is open."""


def _number(value: object) -> str | None:
    return None if value is None else str(value)


def _notes(table: FeedTable) -> Iterator[Problem]:
    """What will stop a table, or may change its values, somewhere within the events that are there."""
    name = str(table.name)
    fix = "start over with events from after that, if the table is stopped there"
    for column in table.dropped:
        yield Problem(Severity.NOTE, f"its column {column} was dropped or renamed within the feed", fix, table=name)
    for column in table.retyped:
        yield Problem(Severity.NOTE, f"its column {column} got another type within the feed", fix, table=name)
    if table.mixed:
        yield Problem(
            Severity.NOTE,
            "its events are of several databases that each have such a table: it is stopped at the second one",
            "give the events of each database a folder and a task of their own",
            table=name,
        )
    if table.rekeyed:
        yield Problem(Severity.NOTE, "the key of its events was changed within the feed", fix, table=name)
    unknown = [added.field.name for added in table.added if not added_value(added)[1]]
    for column in unknown:
        message = f"its column {column} was added within the feed, and events do not tell what earlier rows got in it"
        yield Problem(Severity.NOTE, message, f"{fix}; {_TRUST}", table=name)
    replaced = [each.name for each in table.fields if each.nullable and each.default is not None]
    if replaced:
        yield Problem(
            Severity.NOTE,
            f"{', '.join(replaced)} may be NULL and has a default, which Kafka Connect writes in place of NULL",
            "unless value.converter.replace.null.with.default=false was set, verify with the database itself",
            table=name,
        )
