"""Which table goes where, and which column."""

from __future__ import annotations

from dataclasses import dataclass

from tieout.connectors.base import Endpoint
from tieout.errors import UnsupportedError, UsageError
from tieout.model.move_requests import MoveRequest
from tieout.model.moving import Transfer
from tieout.model.tables import Column, Table, TableName
from tieout.verify.pairing import NamePair, Names, pair_tables, schemas_named


@dataclass(frozen=True, slots=True)
class Route:
    """A table of the source and the one that its rows go to, which may be missing."""

    source: TableName
    target: TableName
    exists: bool


def routes(source: Endpoint, target: Endpoint, request: MoveRequest) -> list[Route]:
    """UsageError if there is nothing to move, or if two tables would go to one."""
    pairs = pair_tables(
        _names(source, request, of_target=False), _names(target, request, of_target=True), request.tables
    )
    found = [_route(pair, target.default_schema()) for pair in pairs if pair.source is not None]
    if not found:
        raise UsageError("there are no tables to move", "check the task's tables")
    taken: dict[TableName, TableName] = {}
    for route in found:
        if route.target in taken:
            raise UsageError(f"{taken[route.target]} and {route.source} would both go to {route.target}")
        taken[route.target] = route.source
    return found


def _route(pair: NamePair, schema: str) -> Route:
    assert pair.source is not None
    if pair.target is not None:
        return Route(pair.source, pair.target, exists=True)
    text = pair.request.target or ""
    wanted = text if text and not text.endswith("*") else pair.source.name
    named = TableName(*wanted.split(".", 1)) if "." in wanted and text else TableName(schema, wanted)
    return Route(pair.source, named, exists=False)


def _names(endpoint: Endpoint, request: MoveRequest, *, of_target: bool) -> Names:
    default = endpoint.default_schema()
    found = endpoint.tables(schemas_named(request.tables, default, of_target=of_target))
    return Names(tuple(name for name in found if not name.name.startswith("tieout_")), default)


def transfer_of(source: Table, target: Table) -> Transfer:
    """Column by column, by name. UnsupportedError if a column has no place, or a place has no column."""
    columns = tuple(_column_pairs(source, target))
    names = [column.name for column, _ in columns]
    missing = [name for name in source.key if name not in names]
    if missing:
        raise UnsupportedError(f"{target.name} has no column {missing[0]}, and {source.name} has it in its key")
    return Transfer(source, target, columns, tuple(names.index(name) for name in source.key))


def _column_pairs(source: Table, target: Table) -> list[tuple[Column, Column]]:
    by_name = {column.name: column for column in target.columns}
    folded = {column.name.casefold(): column for column in target.columns}
    pairs: list[tuple[Column, Column]] = []
    for column in source.columns:
        found = by_name.get(column.name) or folded.get(column.name.casefold())
        if found is None:
            raise UnsupportedError(
                f"{target.name} has no column {column.name}, which {source.name} has", "add it, or leave it out"
            )
        if not found.generated:
            pairs.append((column, found))
    used = {found.name for _, found in pairs}
    for column in target.columns:
        if column.name not in used and not (column.generated or column.nullable or column.default is not None):
            raise UnsupportedError(f"{target.name}.{column.name} takes no NULL, and {source.name} has no such column")
    return pairs
