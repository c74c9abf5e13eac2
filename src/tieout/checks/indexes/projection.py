"""Projects a row of a table to what an index holds of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tieout.canonical.fields import PRESENT, Field
from tieout.connectors.protocols.check import IndexInfo
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.model.canonical_kinds import Form, Kind
from tieout.model.tables import Column
from tieout.model.types import LogicalType, TypeName


@dataclass(frozen=True, slots=True)
class Projection:
    """The positions of an index's columns among the columns read; `condition` is the position of a partial index's
    condition.
    """

    columns: tuple[int, ...]
    condition: int | None = None

    def holds(self, fields: Sequence[Field]) -> npt.NDArray[np.bool_]:
        """Which rows should have an entry."""
        if self.condition is None:
            return np.ones(len(fields[0]), dtype=np.bool_)
        condition = fields[self.condition]
        held: npt.NDArray[np.bool_] = (condition.status == PRESENT) & condition.words().astype(np.bool_)
        return held


@dataclass(frozen=True, slots=True)
class TableColumns:
    """The columns to read of a table for its indexes: each column, expression and condition once."""

    columns: tuple[ScanColumn, ...]
    projections: tuple[Projection, ...]
    key: tuple[int, ...]


def table_columns(indexes: Sequence[IndexInfo], key: Sequence[ScanColumn] = ()) -> TableColumns:
    """`key` are the columns that identify rows in reports; they are read too."""
    places: dict[tuple[str, str | None], int] = {}
    columns: list[ScanColumn] = []

    def place(column: ScanColumn) -> int:
        known = (column.name if column.expression is None else "", column.expression)
        if known not in places:
            places[known] = len(columns)
            columns.append(column)
        return places[known]

    projections = [
        Projection(
            tuple(place(column.read) for column in index.columns),
            None if index.where is None else place(_condition(index.where)),
        )
        for index in indexes
    ]
    keyed = tuple(place(column) for column in key)
    return TableColumns(tuple(columns), tuple(projections), keyed)


def _condition(text: str) -> ScanColumn:
    column = Column("condition", LogicalType(TypeName.BOOLEAN, "boolean"))
    return ScanColumn(column, Kind(Form.BOOLEAN), text)
