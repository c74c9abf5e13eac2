"""The order of an index's entries as the engine itself tells it: a statement compares each with the one before."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from tieout.canonical.decode import decode
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.connectors.protocols.paths import Disorder, Values
from tieout.model.truncated import LONGEST_IN_FAILURE

PLACE = "one after the other"
"""A statement does not tell where entries lie."""


MOST = 10_000
"""Pairs to tell of. A collation that has changed makes a good part of all neighbours wrong."""


class ComparesNeighbours(ABC):
    """For a path: makes it Ordered. It has one part unless it says otherwise.

    A statement sees one moment: what is wrong at a look is wrong. `order_of` hands out one more than MOST at most.
    """

    def order_parts(self, most: int) -> Sequence[Any]:
        return [None]

    @abstractmethod
    def order_of(self, part: Any) -> list[Disorder]: ...

    def disorders(self, parts: Sequence[list[Disorder]]) -> list[Disorder]:
        return [each for part in parts for each in part]

    def still_wrong(self, suspects: Sequence[Disorder]) -> list[Disorder]:
        return [each for part in self.order_parts(1) for each in self.order_of(part)]


def neighbours(columns: Sequence[ScanColumn], arrays: Sequence[pa.Array]) -> list[Disorder]:
    """Of what a statement has found: the columns of the first ones, then those of the second ones."""
    if not len(arrays[0]):
        return []
    fields = [decode(column.kind, array) for column, array in zip((*columns, *columns), arrays, strict=True)]
    rows: list[Values] = [
        tuple(field.kept(row, LONGEST_IN_FAILURE) for field in fields) for row in range(len(arrays[0]))
    ]
    return [Disorder(row[: len(columns)], row[len(columns) :], PLACE) for row in rows]
