"""All checks of the definitions of a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing

from tieout.config.urls import EndpointUrl
from tieout.connectors.postgres.check.schema.columns import (
    check_constraints,
    check_expressions,
    check_sequences,
    readable,
)
from tieout.connectors.postgres.check.schema.indexes import check_indexes
from tieout.connectors.postgres.check.schema.objects import SchemaSession, relations
from tieout.connectors.postgres.check.schema.references import (
    check_foreign_keys,
    check_references,
    indexes_of_nothing,
)
from tieout.connectors.postgres.check.schema.views import check_views, routines
from tieout.connectors.postgres.errors import translated
from tieout.connectors.protocols.check import Inspection
from tieout.model.tables import TableName


def inspect(url: EndpointUrl, names: Collection[TableName] | None) -> list[Inspection]:
    """Checks the definitions of these objects and of the views that read them; None: of all objects."""
    with translated(url), closing(SchemaSession(url)) as session:
        found = relations(session, names)
        check_indexes(session, found)
        check_foreign_keys(session, found)
        check_constraints(session, found)
        tables = readable(session, found)
        defaults = check_expressions(session, found, tables)
        check_sequences(session, tables, defaults)
        check_views(session, found)
        check_references(session, found)
        unplaced = indexes_of_nothing(session)
        others = [each for each in unplaced if names is None or each.name in names]
        return [*(each.inspection for each in found.values()), *others, *routines(session, names)]
