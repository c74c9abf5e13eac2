"""How PostgreSQL's values are written in tab form: by its own SQL in chunks, by us where they come from the log."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from tieout.connectors import tabs
from tieout.connectors.moving import TextOf
from tieout.connectors.postgres.dialect import PostgresDialect
from tieout.connectors.postgres.moving.arrays import array_json
from tieout.model.moving import Transfer
from tieout.model.tables import Column
from tieout.model.types import TypeName


def rendered(dialect: PostgresDialect, transfer: Transfer, *, alike: bool) -> str:
    """The columns to select. `alike`: as PostgreSQL itself reads them."""
    return ", ".join(
        dialect.quote(source.name) if alike else _rendered(dialect.quote(source.name), source, target)
        for source, target in transfer.columns
    )


def _rendered(reference: str, source: Column, target: Column) -> str:
    name = source.type.name
    if name is TypeName.BOOLEAN:
        return f"{reference}::int"
    if name is TypeName.INSTANT:
        return f"{reference} AT TIME ZONE 'UTC'"
    if name is TypeName.ARRAY:
        return f"to_json({reference})"
    if source.type.native == "money":
        return f"{reference}::numeric"
    return reference


def texts_of(transfer: Transfer, *, alike: bool) -> Sequence[TextOf]:
    return [tabs.texts if alike else _text_of(source) for source, _ in transfer.columns]


def _text_of(source: Column) -> TextOf:
    name = source.type.name
    if name is TypeName.BOOLEAN:
        return _each(lambda value: "1" if value == "t" else "0")
    if name is TypeName.INSTANT:
        return _each(lambda value: value.removesuffix("+00"))
    if name is TypeName.ARRAY:
        return _each(lambda value: array_json(value, source.type))
    if source.type.native == "money":
        return _each(lambda value: value.replace("$", "").replace(",", ""))
    return tabs.texts


def _each(text: Callable[[str], str]) -> TextOf:
    def texts(values: list[object]) -> pa.Array:
        return pa.array([None if value is None else text(str(value)) for value in values], pa.large_string())

    return texts
