"""Asks Spark about a task's expressions before a mover, or a verification, begins: it reads no row for that."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tieout.connectors.protocols.endpoint import Endpoint
from tieout.errors import UnsupportedError
from tieout.model.requests import MoveRequest, TableRequest
from tieout.model.tables import Table, TableName
from tieout.model.types import LogicalType
from tieout.tasks.routing import routes
from tieout.tasks.shards import alike_shards
from tieout.tasks.transforms import expressions_of, names_in, renamed_column, unknown_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def has_expressions(request: MoveRequest) -> bool:
    return any(table.expressions or table.where or table.source_where for table in request.tables)


Skips = Callable[[TableName], bool]
"""Tells the tables of the source that are not judged here: earlier movers stopped them, or the running one will judge
them alone.
"""


def refuse_wrong_expressions(
    source: Endpoint,
    target: Endpoint,
    request: MoveRequest,
    session: Callable[[], SparkSession],
    skips: Skips = lambda name: False,
) -> None:
    """Raises UsageError for the first expression that Spark refuses, and UnsupportedError for one whose type no new
    column can have. Calls `session` only if there is an expression.
    """
    if not has_expressions(request):
        return
    found = [route for route in routes(source, target, request) if not skips(route.source)]
    tables = source.describe([route.source for route in found])
    there = {
        table.name: table
        for table in target.describe(list(dict.fromkeys(route.target for route in found if route.exists)))
    }
    asked = [
        expressions_of(route.request, table, there.get(route.target))
        for route, table in zip(found, tables, strict=True)
        # Routing says which columns are unknown; a table that was begun and has lost one is stopped, and others go on.
        if not unknown_in(route.request, table)
    ]
    # Merged tables have the same expressions about the same columns: one of them is enough.
    alike = {(each.shape, each.columns, tuple(each.source.columns)): each for each in asked if each is not None}
    if alike:
        from tieout.spark.frames.transforms import refuse_wrong

        refuse_wrong(session(), alike.values())
    known: dict[tuple[TableName, str], tuple[TableName, LogicalType]] = {}
    for route, table in zip(found, tables, strict=True):
        if route.exists or unknown_in(route.request, table):
            continue
        for name, of_column in _types(route.request, table, session).items():
            other, first = known.setdefault((route.target, name), (route.source, of_column))
            if not first.same_as(of_column):
                raise UnsupportedError(
                    f"{other} and {route.source} would both go to {route.target}, which does not exist, and need "
                    f"different columns there: {name} is {first} in one and {of_column} in the other",
                    "cast it to one type, or create the target table first",
                )


def _types(request: TableRequest, table: Table, session: Callable[[], SparkSession]) -> dict[str, LogicalType]:
    """The types of the computed columns to create. UnsupportedError for one that a mover could not create."""
    texts = {name: text for name, (text, _) in request.expressions.items() if renamed_column(text, table) is None}
    if not texts:
        return {}
    from tieout.spark.frames.computed_types import computed_types

    used = frozenset[str]().union(*map(names_in, texts.values()))
    found: dict[str, LogicalType] = {}
    for name, of_column in computed_types(session(), table, texts, used).items():
        if isinstance(of_column, str):
            raise UnsupportedError(f"{table.name}.{name}: {of_column}", "cast it, or create the target table first")
        found[name] = of_column
    return found


def refuse_alike_shards(
    source: Endpoint,
    target: Endpoint,
    request: MoveRequest,
    session: Callable[[], SparkSession],
    skips: Skips = lambda name: False,
) -> None:
    """Raises UsageError for tables that are merged and whose rows could not be distinguished."""
    found = [route for route in routes(source, target, request) if not skips(route.source)]
    sources = {table.name: table for table in source.describe([route.source for route in found])}
    there = target.describe(list(dict.fromkeys(route.target for route in found if route.exists)))
    for error in alike_shards(found, sources, {table.name: table for table in there}, session).values():
        raise error
