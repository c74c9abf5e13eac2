"""All that is looked at of the definitions of a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing

from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres.check.schema.columns import (
    look_at_checks,
    look_at_expressions,
    look_at_sequences,
    readable,
)
from tieout.connectors.postgres.check.schema.indexes import look_at_indexes
from tieout.connectors.postgres.check.schema.objects import SchemaSession, relations
from tieout.connectors.postgres.check.schema.references import (
    indexes_of_nothing,
    look_at_foreign_keys,
    look_at_references,
)
from tieout.connectors.postgres.check.schema.views import look_at_views, routines
from tieout.connectors.protocols.check import Inspection
from tieout.model.tables import TableName


def inspect(url: EndpointUrl, names: Collection[TableName] | None) -> list[Inspection]:
    """The definitions of these objects and of the views that read them; None: of all."""
    with closing(SchemaSession(url)) as session:
        found = relations(session, names)
        look_at_indexes(session, found)
        look_at_foreign_keys(session, found)
        look_at_checks(session, found)
        tables = readable(session, found)
        defaults = look_at_expressions(session, found, tables)
        look_at_sequences(session, tables, defaults)
        look_at_views(session, found)
        look_at_references(session, found)
        unplaced = indexes_of_nothing(session)
        others = [each for each in unplaced if names is None or each.name in names]
        return [*(each.inspection for each in found.values()), *others, *routines(session, names)]
