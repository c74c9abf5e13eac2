"""Tables that are merged into one: the key has to show which of them a row came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from tieout.errors import UsageError
from tieout.model.moves import SCHEMA_NAME, TABLE_NAME
from tieout.model.tables import Table, TableName
from tieout.model.types import TypeName
from tieout.tasks.created import key_of_created
from tieout.tasks.routing import Route, identifying, match_columns
from tieout.tasks.transforms import names_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NAMES = {SCHEMA_NAME, TABLE_NAME}
Values = tuple[object, ...]


def alike_shards(
    found: Sequence[Route],
    sources: Mapping[TableName, Table],
    targets: Mapping[TableName, Table],
    session: Callable[[], SparkSession],
) -> dict[TableName, str]:
    """The source tables whose rows could not be distinguished from those of another that goes to the same table, and
    why.

    `sources` and `targets` are those that exist. Calls `session` only if there are merged tables.
    """
    groups: dict[TableName, list[Route]] = {}
    for route in found:
        if route.source in sources:
            groups.setdefault(route.target, []).append(route)
    refused: dict[TableName, str] = {}
    for target, routes in groups.items():
        if len(routes) < 2:
            continue
        known: dict[Values, TableName] = {}
        for route in routes:
            if not sources[route.source].key:
                continue  # its rows are found by all of their values
            try:
                texts = _distinguishing(route, sources[route.source], targets.get(target))
            except UsageError:
                continue  # it lacks a column: whoever plans it says so
            if not texts:
                refused[route.source] = (
                    f"rows of {route.source} and of other tables in {target} could not be distinguished: no column of "
                    f"its key is computed from {TABLE_NAME} or {SCHEMA_NAME} alone"
                )
                continue
            values = tuple(_as_stored(v, targets.get(target), name) for name, v in _values(session(), route, texts))
            first = known.setdefault(values, route.source)
            if first != route.source:
                shown = ", ".join(f"{name} = {value}" for name, value in zip(texts, values, strict=True))
                refused[route.source] = (
                    f"rows of {first} and {route.source} could not be distinguished in {target}: both have {shown}"
                )
    return refused


def _distinguishing(route: Route, source: Table, target: Table | None) -> dict[str, str]:
    """The columns of the target's key that only the name of the table decides, with their expressions."""
    request = route.request
    if target is None:
        key = list(key_of_created(request, source))
    else:
        key = identifying(source, target, match_columns(request, source, target))
    wanted = {name.casefold() for name in key}
    return {
        name: text
        for name, (text, _) in request.expressions.items()
        if name.casefold() in wanted and names_in(text) and names_in(text) <= _NAMES
    }


def _values(session: SparkSession, route: Route, texts: Mapping[str, str]) -> list[tuple[str, object]]:
    from pyspark.sql import functions as fn

    from tieout.spark.errors import frame_errors

    with frame_errors(str(route.source)):
        frame = session.range(1).select(
            fn.lit(route.source.schema).alias(SCHEMA_NAME), fn.lit(route.source.name).alias(TABLE_NAME)
        )
        (row,) = frame.select(*(fn.expr(text).cast("string") for text in texts.values())).collect()
    return list(zip(texts, row, strict=True))


def _as_stored(value: object, target: Table | None, name: str) -> object:
    """01 and 1 are one number."""
    column = next((c for c in target.columns if c.name.casefold() == name.casefold()), None) if target else None
    if column is not None and column.type.name in (TypeName.INTEGER, TypeName.DECIMAL) and value is not None:
        return float(str(value))
    return value
