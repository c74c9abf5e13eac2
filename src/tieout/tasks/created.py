"""The columns and the key of a target table that a task has to create, if they are not simply the source's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tieout.connectors.sql.selection import Selection
from tieout.errors import UsageError
from tieout.model.moves import TABLE_NAME, Transfer
from tieout.model.requests import TableRequest
from tieout.model.tables import Column, Table
from tieout.model.types import LogicalType, TypeName
from tieout.tasks.column_names import columns_meant
from tieout.tasks.transforms import (
    computed_of_key,
    condition_of,
    names_source,
    origins,
    renamed_column,
    unknown_names,
)

UNTYPED = LogicalType(TypeName.TEXT, "string")
"""Stands for the type of a computed column while only Spark knows it."""


def key_of_created(request: TableRequest, source: Table) -> tuple[str, ...]:
    """The source's key, and the computed columns that tell its rows from those of other tables."""
    if not source.key:
        return ()
    more = (name for name, (text, _) in request.expressions.items() if names_source(text))
    return (*source.key, *(name for name in more if computed_of_key(request.expressions[name][0], source)))


def selection_of(request: TableRequest, source: Table, chosen: Sequence[Column], *, shared: bool) -> Selection | None:
    """The columns of the table to create; None if they are the source's. `chosen` are those that are moved unchanged.

    UsageError if rows could not be identified there, or an expression names a column that the source does not have.
    """
    expressions = {name: text for name, (text, _) in request.expressions.items()}
    condition = condition_of(request)
    for text in [*expressions.values(), *([condition] if condition else [])]:
        if unknown := unknown_names(text, source):
            raise UsageError(f"{text!r}: {source.name} has no column {unknown[0]}", "check `columns` and `where`")
    if not (request.columns or request.exclude_columns or request.expressions):
        return None
    replaced = columns_meant(request.expressions, source.column_names, source.name.name).values()
    kept = [column.name for column in chosen if column.name not in replaced]
    if lost := [name for name in source.key if name not in kept]:
        raise UsageError(f"{source.name}: the key column {lost[0]} must be moved unchanged", "choose it, too")
    key = key_of_created(request, source)
    if shared and source.key and key == source.key:
        raise UsageError(
            f"rows of {source.name} and of other tables could not be distinguished by a key",
            f'compute a column from the name of the table and the key only: columns: {{shard: "{TABLE_NAME}"}}',
        )
    return Selection(
        (
            *((name, name) for name in kept),
            *((name, renamed_column(text, source)) for name, text in expressions.items()),
        ),
        key,
        shared,
        key != source.key,
        {name: Column(name, UNTYPED, nullable=name not in key) for name in expressions},
    )


def selection_from(transfer: Transfer, *, shared: bool) -> Selection | None:
    """The selection of a table that exists, which the task has created; None if it has the source's columns."""
    found = origins(transfer)
    generated = {
        column.name: column.name
        for column in transfer.source.columns
        if column.generated and any(one.name == column.name and one.generated for one in transfer.target.columns)
    }
    names = [*found, *(name for name in generated if name not in found)]
    computed = [column.name for column in transfer.target_columns if column.name not in found]
    known = {**generated, **found}
    columns = (*((name, known[name]) for name in names), *((name, None) for name in computed))
    if not shared and dict(columns) == {name: name for name in transfer.source.column_names}:
        return None
    key = tuple(transfer.target_columns[place].name for place in transfer.key)
    described = {name: Column(name, UNTYPED, nullable=name not in key) for name in computed}
    return Selection(columns, key, shared, len(key) > len(transfer.source.key), described)


def disagreement(first: Table, second: Table) -> str | None:
    """Why two tables can't be created as one table; None if they can. Both are descriptions of the created table."""
    for mine, theirs in zip(first.columns, second.columns, strict=False):
        if mine.name != theirs.name:
            return f"one has the column {mine.name} where the other has {theirs.name}"
        if not mine.type.same_as(theirs.type):
            return f"{mine.name} is {mine.type} in one and {theirs.type} in the other"
        if mine.nullable != theirs.nullable:
            return f"{mine.name} is NOT NULL in only one of them"
    if len(first.columns) != len(second.columns):
        more = max(first.columns, second.columns, key=len)[min(len(first.columns), len(second.columns))]
        return f"only one has the column {more.name}"
    return None if first.key == second.key else "they have different keys"


def typed(selection: Selection, types: Mapping[str, LogicalType]) -> dict[str, Column]:
    """The computed columns with the types that Spark gives them."""
    return {
        name: Column(name, types.get(name, column.type), column.nullable) for name, column in selection.computed.items()
    }
