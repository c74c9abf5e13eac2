"""Asks Spark about a task's expressions before a mover, or a verification, begins: it reads no row for that."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tieout.connectors.protocols.endpoint import Endpoint
from tieout.model.requests import MoveRequest
from tieout.tasks.routing import routes
from tieout.tasks.transforms import expressions_of, unknown_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def has_expressions(request: MoveRequest) -> bool:
    return any(table.expressions or table.where or table.source_where for table in request.tables)


def refuse_wrong_expressions(
    source: Endpoint, target: Endpoint, request: MoveRequest, session: Callable[[], SparkSession]
) -> None:
    """Raises UsageError for the first expression that Spark refuses. Calls `session` only if there is one."""
    if not has_expressions(request):
        return
    found = routes(source, target, request)
    tables = source.describe([route.source for route in found])
    asked = [
        expressions_of(route.request, table)
        for route, table in zip(found, tables, strict=True)
        # Routing says which columns are unknown; a table that was begun and has lost one is stopped, and others go on.
        if not unknown_in(route.request, table)
    ]
    # Merged tables have the same expressions about the same columns: one of them is enough.
    alike = {(each.shape, tuple(each.source.columns)): each for each in asked if each is not None}
    if alike:
        from tieout.spark.frames.transforms import refuse_wrong

        refuse_wrong(session(), alike.values())
