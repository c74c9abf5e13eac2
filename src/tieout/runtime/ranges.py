"""How work on a table is cut: into key ranges of equal size, and into portions that fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from tieout.model.keys import Key

T = TypeVar("T")


def sampled_bounds(sample: Sequence[str], rows: int, chunk_rows: int) -> list[Key]:
    """Every n-th value of a sample that divides `rows` rows into equal parts."""
    step = max(1, round(chunk_rows * (len(sample) - 1) / rows))
    return [(value,) for value in sample[step:-1:step]]


ROOM = 32 << 20
"""Bytes of rows that are held at once, as far as it is known how long they are."""
FIRST = 16


@dataclass
class Portions:
    """Begins with a few, and goes by what those took, up to `most`."""

    most: int
    _size: int = FIRST

    def of(self, items: Iterator[T]) -> Iterator[list[T]]:
        """The items in portions. After each, `took` is to be told how many bytes its rows had."""
        while portion := list(islice(items, self._size)):
            self._taken = len(portion)
            yield portion

    def took(self, size: int) -> None:
        fitting = ROOM * self._taken // max(size, 1)
        self._size = max(1, min(fitting, 2 * self._size, self.most))
