"""How engines write the statements that find rows which break constraints, and what several of them write alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.connectors.sql import select
from tieout.model.constraints import ConstraintInfo
from tieout.model.tables import Column, TableName


class Spelling(Protocol):
    """How an engine writes what these statements are made of."""

    @property
    def dialect(self) -> select.Dialect: ...

    def source(self, table: TableName, alias: str | None = None) -> str:
        """A table in FROM, such that its rows are read and no index."""

    def indexed_source(self, table: TableName, alias: str | None = None) -> str:
        """A table in FROM, however it is read."""

    def is_null(self, expression: str) -> str:
        """In words that no optimiser answers from a NOT NULL."""

    def opaque(self, key: str) -> str:
        """The same value in words for which no optimiser sees an index, nor that it is unique."""

    def grouped(self, columns: str, source: str, condition: str, keys: Sequence[str]) -> str:
        """SELECT … GROUP BY, each key in its own words."""

    def alike(self, columns: Sequence[ScanColumn], source: str, condition: str, keys: Sequence[str]) -> str:
        """The rows of which others have the same keys; behind the columns a number that these have in common."""

    def without_parent(self, constraint: ConstraintInfo) -> str:
        """That no row of the parent has what the row `c` refers to. The parent is read, and no index of it."""

    def without_indexed_parent(self, constraint: ConstraintInfo) -> str:
        """The same, however the parent is read."""

    def refers(self, compared: str, parent: str, child: Column, value: str) -> str:
        """That the row `c` refers to a value of the parent's column; `compared` is the constraint's for the two."""


def numbered(
    dialect: select.Dialect, columns: Sequence[ScanColumn], source: str, condition: str, keys: Sequence[str]
) -> str:
    """`Spelling.alike` of engines that sort by all of a value."""
    listed = ", ".join(keys)
    each = (
        f"SELECT {select.wires(dialect, columns)}, COUNT(*) OVER (PARTITION BY {listed}) AS n, "
        f"DENSE_RANK() OVER (ORDER BY {listed}) AS g FROM {source} WHERE {condition}"
    )
    names = ", ".join([*(f"c{place}" for place in range(len(columns))), "g"])
    return f"SELECT {names} FROM ({each}) AS w WHERE n > 1"


def as_parent(dialect: select.Dialect, compared: str, parent: str, child: Column, value: str) -> str:
    """`Spelling.refers` of engines of which `compared` begins with the parent's column."""
    return dialect.literal(child, value) + compared.removeprefix(f"p.{dialect.quote(parent)}")


def named_source(dialect: select.Dialect, table: TableName, alias: str | None) -> str:
    """A table in FROM, however it is read."""
    named = dialect.table(table)
    return named if alias is None else f"{named} AS {alias}"


def plainly_grouped(columns: str, source: str, condition: str, keys: Sequence[str]) -> str:
    return f"SELECT {columns} FROM {source} WHERE {condition} GROUP BY {', '.join(keys)}"
