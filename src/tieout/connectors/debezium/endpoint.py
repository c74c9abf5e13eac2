"""Describes a feed: the tables that its events are of."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from tieout.config.urls import EndpointUrl
from tieout.connectors.debezium.feed.catalog import Catalog, FeedTable, catalog_of
from tieout.connectors.debezium.feed.files import feed_of
from tieout.connectors.protocols.endpoint import Capabilities, Reader
from tieout.errors import MissingObjectError, UnsupportedError
from tieout.model.tables import Column, Index, Table, TableName


def open_endpoint(url: EndpointUrl) -> DebeziumEndpoint:
    began = time.monotonic()
    feed_of(url)
    return DebeziumEndpoint(url, time.monotonic() - began)


@dataclass(frozen=True)
class DebeziumEndpoint:
    """Reads all events to know the tables; what it has read it does not read again while the files stay as they are."""

    url: EndpointUrl
    round_trip: float
    version = "Debezium change events, format 1"
    capabilities = Capabilities(family="debezium", rows=False)

    names_schema = False

    def schemas(self) -> list[str]:
        return sorted({name.schema for name in self._catalog.tables})

    def computed(self, table: Table, column: Column, expression: str) -> Column:
        raise self._no_rows()

    def default_schema(self) -> str:
        """The schema of the first event."""
        return self._catalog.schema

    def tables(self, schemas: Sequence[str] = ()) -> list[TableName]:
        catalog = self._catalog
        return sorted(name for name in catalog.tables if name.schema in (schemas or (catalog.schema,)))

    def describe(self, names: Sequence[TableName]) -> list[Table]:
        catalog = self._catalog
        return [self._table(catalog, name) for name in names]

    def reader(self) -> Reader:
        raise self._no_rows()

    def position(self) -> str | None:
        return None

    def close(self) -> None:
        """Nothing stays open."""

    @property
    def _catalog(self) -> Catalog:
        return catalog_of(self.url)

    def _no_rows(self) -> UnsupportedError:
        return UnsupportedError(
            f"{self.url.redacted()} is a feed of events, and has no rows to compare",
            "verify the database that the events come from",
        )

    def _table(self, catalog: Catalog, name: TableName) -> Table:
        found = catalog.tables.get(name)
        if found is None:
            raise MissingObjectError(f"{self.url.redacted()}: no event is of a table {name}", "check its name")
        return described(found, catalog.key_of(found))


def described(table: FeedTable, key: tuple[str, ...]) -> Table:
    """The table as its last event describes it. Defaults are left out: events do not tell them reliably."""
    columns = tuple(
        Column(each.name, each.type, nullable=each.nullable and each.name not in key) for each in table.fields
    )
    names = {column.name for column in columns}
    known = key if set(key) <= names else ()
    indexes = (Index("key", known, unique=True, primary=True),) if known else ()
    return Table(table.name, columns, known, indexes)
