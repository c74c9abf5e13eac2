"""All that is looked at of the definitions of a database."""

from __future__ import annotations

from collections.abc import Collection

from tieout.config.urls import EndpointUrl
from tieout.connectors.mysql.check.schema.columns import look_at_columns, look_at_counters
from tieout.connectors.mysql.check.schema.foreign_keys import look_at_foreign_keys
from tieout.connectors.mysql.check.schema.indexes import look_at_indexes
from tieout.connectors.mysql.check.schema.objects import relations
from tieout.connectors.mysql.check.schema.routines import look_at_triggers, routines
from tieout.connectors.mysql.check.schema.session import schema_session
from tieout.connectors.mysql.check.schema.views import look_at_views
from tieout.connectors.mysql.server_kind import Flavour
from tieout.connectors.protocols.check import Inspection
from tieout.model.tables import TableName


def inspect(url: EndpointUrl, flavour: Flavour, names: Collection[TableName] | None) -> list[Inspection]:
    """The definitions of these objects and of the views that read them; None: of all that the database has."""
    schemas = [url.database or ""] if names is None else sorted({name.schema for name in names})
    with schema_session(url, flavour) as session:
        found = relations(session, schemas, names)
        look_at_indexes(session, schemas, found)
        look_at_foreign_keys(session, schemas, found)
        look_at_columns(session, schemas, found)
        look_at_counters(session, schemas, found)
        look_at_triggers(session, schemas, found)
        look_at_views(session, found.values())
        return [*(each.inspection for each in found.values()), *routines(session, schemas, names)]
