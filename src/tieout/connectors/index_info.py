"""Indexes as the catalog of an engine has them."""

from __future__ import annotations

from dataclasses import dataclass

from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.model.tables import Table


@dataclass(frozen=True, slots=True)
class IndexColumn:
    """`name` is for people: the column's, or the expression's text. `included`: stored, and no part of the key."""

    name: str
    read: ScanColumn
    included: bool = False
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """An index as the catalog has it. `where` is the condition of a partial one, in the engine's SQL.

    `shortened` are columns of which it has only the beginning, and how much: none of `columns`. `unchecked` is why it
    can't be checked, if it can't.
    """

    name: str
    table: Table
    columns: tuple[IndexColumn, ...]
    unique: bool = False
    primary: bool = False
    where: str | None = None
    definition: str = ""
    unchecked: str | None = None
    shortened: tuple[tuple[str, int], ...] = ()

    @property
    def column_names(self) -> tuple[str, ...]:
        return (*(column.name for column in self.columns), *(name for name, _ in self.shortened))
