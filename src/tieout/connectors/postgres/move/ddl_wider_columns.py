"""DDL that gives columns of a PostgreSQL table another type, and leaves everything else as it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tieout.connectors.postgres import quoting
from tieout.connectors.postgres.move.ddl_from_other_engine import column_type
from tieout.connectors.sql.ddl import TABLE, UnsupportedColumn
from tieout.errors import UnsupportedError
from tieout.model.tables import Column, Table
from tieout.model.types import TypeName
from tieout.model.widening import takes

Kept = Mapping[str, tuple[str | None, str | None]]
"""For each column its enum, if its type is one, and its collation, if that is not the one of its type."""


def widening(kept: Kept, table: Table, source: Table, names: Mapping[str, str], *, same_engine: bool) -> list[str]:
    """The statements. A new type would replace a column's collation: the column keeps its own."""
    labels: list[str] = []
    changes: list[str] = []
    for name, origin in names.items():
        own, wanted = table.column(name), source.column(origin)
        enum, collation = kept[name]
        if enum is not None:
            labels += _labels(enum, own, wanted)
        elif not takes(own.type, wanted.type):
            kind = _type(wanted, same_engine=same_engine)
            changes.append(
                f"ALTER COLUMN {quoting.name(name)} TYPE {kind}{f' COLLATE {collation}' if collation else ''}"
            )
        if wanted.nullable and not own.nullable and name not in table.key:
            changes.append(f"ALTER COLUMN {quoting.name(name)} DROP NOT NULL")
    return [*labels, *([f"ALTER TABLE {TABLE} {', '.join(changes)}"] if changes else [])]


def _type(wanted: Column, *, same_engine: bool) -> str:
    if same_engine:
        return wanted.type.native
    found = column_type(wanted)
    if isinstance(found, UnsupportedColumn):
        raise UnsupportedError(f"{found.column}: {found.reason}")
    return found


def _labels(enum: str, own: Column, wanted: Column) -> Iterator[str]:
    if wanted.type.name is not TypeName.ENUM:
        raise UnsupportedError(f"{own.name}: {wanted.type} is not an enum")
    for label in wanted.type.values[len(own.type.values) :]:
        yield f"ALTER TYPE {enum} ADD VALUE IF NOT EXISTS {quoting.text(label)}"
