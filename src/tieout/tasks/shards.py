"""Tables that are merged into one: the key has to show which of them a row came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from tieout.errors import UsageError
from tieout.model.moves import SCHEMA_NAME, TABLE_NAME
from tieout.model.tables import Table, TableName
from tieout.model.types import TypeName
from tieout.tasks.created import key_of_created
from tieout.tasks.routing import Route, identifying, match_columns, without_lost
from tieout.tasks.transforms import names_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FIX = f'compute a column of the key that differs for each table: columns: {{shard: "{TABLE_NAME}"}}'
_NAMES = {SCHEMA_NAME, TABLE_NAME}
Values = tuple[tuple[str, object], ...]


def alike_shards(
    found: Sequence[Route],
    sources: Mapping[TableName, Table],
    targets: Mapping[TableName, Table],
    session: Callable[[], SparkSession],
) -> dict[TableName, UsageError]:
    """The source tables whose rows could not be distinguished from those of another that goes to the same table, and
    why.

    `sources` and `targets` are those that exist. Calls `session` only if there are merged tables.
    """
    groups: dict[TableName, list[Route]] = {}
    for route in found:
        if route.source in sources:
            groups.setdefault(route.target, []).append(route)
    refused: dict[TableName, UsageError] = {}
    for target, routes in groups.items():
        texts = _texts(routes, sources, targets.get(target)) if len(routes) > 1 else {}
        known: dict[Values, TableName] = {}
        for source, raw in _values(texts, session).items():
            try:
                values = tuple((name, _as_stored(value, targets.get(target), name)) for name, value in raw)
            except UsageError as error:
                refused[source] = UsageError(f"{source}: {error.message}", error.hint)
                continue
            if not values:
                refused[source] = UsageError(
                    f"rows of {source} and of other tables in {target} could not be distinguished: no column of its "
                    f"key is computed from {TABLE_NAME} or {SCHEMA_NAME} alone",
                    _FIX,
                )
                continue
            first = known.setdefault(values, source)
            if first != source:
                shown = ", ".join(f"{name} = {value}" for name, value in values)
                refused[source] = UsageError(
                    f"rows of {first} and {source} could not be distinguished in {target}: both have {shown}", _FIX
                )
    return refused


def _texts(
    routes: Sequence[Route], sources: Mapping[TableName, Table], target: Table | None
) -> dict[TableName, dict[str, str]]:
    """For each table with a key what distinguishes it. Rows without a key are found by all of their values."""
    found = {}
    for route in routes:
        with suppress(UsageError):  # it lacks a column: whoever plans it says so
            if sources[route.source].key:
                found[route.source] = _distinguishing(route, sources[route.source], target)
    return found


def _values(
    texts: Mapping[TableName, Mapping[str, str]], session: Callable[[], SparkSession]
) -> dict[TableName, Values]:
    """What Spark computes for the distinguishing columns, by name. The same expressions are one question."""
    alike: dict[tuple[str, ...], list[TableName]] = {}
    for source, expressions in texts.items():
        alike.setdefault(tuple(expressions.values()), []).append(source)
    found: dict[TableName, Values] = {}
    for asked, names in alike.items():
        if not asked:
            found.update(dict.fromkeys(names, ()))
            continue
        from tieout.spark.frames.computed_types import values_of_names

        for source, row in zip(names, values_of_names(session(), names, asked), strict=True):
            found[source] = tuple(zip(texts[source], row, strict=True))
    return {source: found[source] for source in texts}


def _distinguishing(route: Route, source: Table, target: Table | None) -> dict[str, str]:
    """The columns of the target's key that only the name of the table decides, with their expressions."""
    request = route.request
    if target is None:
        texts = {name: text for name, (text, _) in request.expressions.items()}
        key = list(key_of_created(request, source))
    else:
        matched = match_columns(without_lost(request, source), source, target)
        texts = {column.name: text for column, text in matched.computed}
        key = identifying(source, target, matched)
    return {name: text for name, text in texts.items() if name in key and names_in(text) and names_in(text) <= _NAMES}


def _as_stored(value: object, target: Table | None, name: str) -> object:
    """01 and 1 are one number. UsageError for what is none, in a column that holds numbers."""
    column = next((each for each in target.columns if each.name == name), None) if target else None
    if column is None or column.type.name not in (TypeName.INTEGER, TypeName.DECIMAL) or value is None:
        return value
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite():
        raise UsageError(
            f"the task computes {value!r} for {column.name}, whose type is {column.type}",
            f"compute a number, such as CAST(substr({TABLE_NAME}, 8) AS INT), or make the column a text",
        )
    return number
