"""Many messages of pgoutput in one buffer: what they have in common is read from all of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]
"""Offsets in a batch's buffer."""

_FRAME = 6
"""What a row of a binary COPY has before its only field: the number of fields and the field's length."""

# A word is read at the place of each value before it is known whether there is one.
_PADDING = bytes(8)


class Batch:
    """The rows of a binary COPY with one field, a message each. `starts` is where they begin in `buffer`.

    `octets`, `shorts` and `words` are the numbers of one, two and four bytes that begin at each offset.
    """

    __slots__ = ("_ends", "buffer", "octets", "shorts", "starts", "words")

    def __init__(self, rows: Sequence[memoryview | bytes]) -> None:
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        self.buffer = b"".join([*rows, _PADDING])
        self._ends = np.cumsum(lengths)
        self.starts: Places = self._ends - lengths + _FRAME
        self.octets = np.frombuffer(self.buffer, np.uint8)
        self.shorts: NDArray[np.uint16] = self._numbers(">u2")
        self.words: NDArray[np.uint32] = self._numbers(">u4")

    def __len__(self) -> int:
        return len(self.starts)

    def message(self, number: int) -> bytes:
        return self.buffer[self.starts[number] : self._ends[number]]

    def only(self, numbers: Places) -> Batch:
        """These messages alone."""
        begins, ends = (self.starts[numbers] - _FRAME).tolist(), self._ends[numbers].tolist()
        return Batch([self.buffer[begin:end] for begin, end in zip(begins, ends, strict=True)])

    def _numbers(self, dtype: str) -> NDArray[Any]:
        number = np.dtype(dtype)
        return np.ndarray((len(self.buffer) - number.itemsize + 1,), number, self.buffer, strides=(1,))
