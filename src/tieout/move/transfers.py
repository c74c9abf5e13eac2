"""Which table goes where, and which column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tieout.connectors.base import Endpoint
from tieout.errors import UnsupportedError, UsageError
from tieout.model.move_requests import MoveRequest
from tieout.model.moving import Transfer
from tieout.model.requests import TableRequest
from tieout.model.tables import Column, Table, TableName
from tieout.move.fitting import misfit
from tieout.verify.pairing import NamePair, Names, pair_tables, schemas_named


@dataclass(frozen=True, slots=True)
class Route:
    """A table of the source and the one that its rows go to, which may be missing."""

    source: TableName
    target: TableName
    exists: bool


def routes(source: Endpoint, target: Endpoint, request: MoveRequest) -> list[Route]:
    """UsageError if there is nothing to move, or if two tables would go to one."""
    refuse_unbuilt(request.tables)
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


def refuse_unbuilt(requests: Sequence[TableRequest]) -> None:
    """What would change rows on their way is refused by name: without it, other rows would be moved than asked for."""
    for request in requests:
        for name in ("where", "source_where", "columns", "exclude_columns", "expressions", "key"):
            if getattr(request, name):
                key = "columns" if name == "expressions" else name
                raise UnsupportedError(f"{request.source}: `{key}` is not followed by a mover yet", "leave it out")


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


def transfer_of(source: Table, target: Table, *, alike: bool, tells_generated: bool) -> Transfer:
    """Column by column, by name. UnsupportedError names every column that has no place, and every place without one.

    `tells_generated`: the source's log tells the values of generated columns.
    """
    pairs = _pairs(source, target)
    problems = _missing(source, pairs) + _unfilled(target, pairs) + _other_key(source, target, pairs)
    for column, found in pairs:
        reason = _misfit(column, found, alike=alike, tells_generated=tells_generated)
        if reason is not None:
            problems.append(f"{column.name}: {reason}")
    if problems:
        raise UnsupportedError(
            f"{source.name} does not fit into {target.name}, which is there already: {'; '.join(problems)}",
            "change that table, or drop it and let it be made",
        )
    columns = tuple((column, found) for column, found in pairs if not found.generated)
    names = [column.name for column, _ in columns]
    return Transfer(source, target, columns, tuple(names.index(name) for name in source.key))


def _pairs(source: Table, target: Table) -> list[tuple[Column, Column]]:
    by_name = {column.name: column for column in target.columns}
    folded = {column.name.casefold(): column for column in target.columns}
    found = ((column, by_name.get(column.name) or folded.get(column.name.casefold())) for column in source.columns)
    return [(column, partner) for column, partner in found if partner is not None]


def _missing(source: Table, pairs: Sequence[tuple[Column, Column]]) -> list[str]:
    names = {column.name for column, _ in pairs}
    return [f"it has no column {column.name}" for column in source.columns if column.name not in names]


def _unfilled(target: Table, pairs: Sequence[tuple[Column, Column]]) -> list[str]:
    filled = {found.name for _, found in pairs}
    return [
        f"its column {column.name} takes no NULL, and nothing comes for it"
        for column in target.columns
        if column.name not in filled and not (column.generated or column.nullable or column.default is not None)
    ]


def _other_key(source: Table, target: Table, pairs: Sequence[tuple[Column, Column]]) -> list[str]:
    """Rows are found by the source's key: without one like it, each of them would be looked for in all of the table."""
    generated = [found.name for column, found in pairs if column.name in source.key and found.generated]
    if generated:
        return [f"its key holds {generated[0]}, which is generated"]
    names = {found.name for column, found in pairs if column.name in source.key}
    keys = [set(index.columns) for index in target.indexes if index.unique or index.primary]
    if not source.key or names in keys or len(names) < len(source.key):
        return []
    return [f"it has no unique index on the key ({', '.join(source.key)})"]


def _misfit(column: Column, found: Column, *, alike: bool, tells_generated: bool) -> str | None:
    if found.generated:
        return None if column.generated else "it is generated there, and has values of its own here"
    if column.generated and not tells_generated:
        return "it is generated here, and the log does not tell it; let it be generated there too"
    return misfit(column.type, found.type, alike=alike)
