"""Cuts the tuples of one table into values, all of them at once.

A text of PostgreSQL holds no zero byte. So a zero is put before each value, where the last byte of its length was;
all bytes between the values are left out; and the rest is one text, to be split: one call makes all the strings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tieout.connectors.postgres.wal.batch import Batch, Places
from tieout.model.changes import KEPT, Image

_TEXT, _NULL, _UNCHANGED = ord("t"), ord("n"), ord("u")

_COUNT = 2
"""A tuple begins with the number of its columns."""

_HEAD = 5
"""What stands before a value: its kind, and its length unless it is absent."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The values of some tuples, column by column; where the tuples end; columns that some of them leave unchanged."""

    columns: list[list[Any]]
    ends: Places
    unchanged: list[int]

    def rows(self) -> list[Image]:
        return list(zip(*self.columns, strict=True)) if self.columns else [()] * len(self.ends)


def cut(batch: Batch, begins: Places, told: Sequence[bool]) -> Cut:
    """Tuples that begin at these places. A column that is not `told` is KEPT in all of them.

    UnicodeDecodeError if a value is no UTF-8.
    """
    assert (batch.shorts[begins] == len(told)).all(), "a tuple has the columns of its relation"
    texts = _Texts(batch)
    kinds: list[NDArray[np.uint8]] = []
    at = begins + _COUNT
    for is_told in told:
        kind = batch.octets[at]
        present = kind == _TEXT
        ends = np.where(present, at + _HEAD + batch.words[at + 1], at + 1)
        if is_told:
            texts.add(np.where(present, at + _HEAD - 1, at), ends)
        kinds.append(kind)
        at = ends
    found = iter(texts.columns())
    columns = [
        _with_absent(next(found), kind) if each else [KEPT] * len(at) for each, kind in zip(told, kinds, strict=True)
    ]
    unchanged = [place for place, kind in enumerate(kinds) if (kind == _UNCHANGED).any()]
    return Cut(columns, at, unchanged)


def _with_absent(values: list[Any], kinds: NDArray[np.uint8]) -> list[Any]:
    absent = np.flatnonzero(kinds != _TEXT)
    for place, kind in zip(absent.tolist(), kinds[absent].tolist(), strict=True):
        values[place] = None if kind == _NULL else KEPT
    return values


class _Texts:
    """Pieces of a batch's buffer, each behind one byte that is given up for a zero."""

    def __init__(self, batch: Batch) -> None:
        self._octets = batch.octets.copy()
        self._edges = np.zeros(len(self._octets), np.int8)
        self._columns = 0

    def add(self, begins: Places, ends: Places) -> None:
        """A column: of each tuple, the piece behind `begins` and before `ends`."""
        self._octets[begins] = 0
        # Where one piece ends another may begin.
        self._edges[begins] += 1
        self._edges[ends] -= 1
        self._columns += 1

    def columns(self) -> list[list[Any]]:
        inside = np.cumsum(self._edges, dtype=np.int8).view(np.bool_)
        # The pieces stand in the order of tuples, and in a tuple in that of columns.
        pieces = self._octets[inside].tobytes().decode().split("\0")
        return [pieces[first :: self._columns] for first in range(1, self._columns + 1)]
