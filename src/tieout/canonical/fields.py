"""A column of a batch in canonical form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tieout.canonical.hashing import Words, hash_values

PRESENT, NULL, ODD = 0, 1, 2
"""The status byte of a value. ODD: outside what its form holds (a zero date, infinity, text in an
INTEGER column of SQLite); such a value is its text."""

Text = Callable[[int], str]


@dataclass(frozen=True)
class Field:
    """One column: a status for each row, and either fixed-width data or bytes of any length.

    `data` is a numpy array of n fixed-width items, `values` an Arrow binary array; one of them is None.
    `odd` maps rows to their text. `show` renders a present row as canonical text, all of them in hexadecimal
    if `is_hex`.
    """

    status: npt.NDArray[np.uint8]
    data: npt.NDArray[np.generic] | None
    values: pa.Array | None
    show: Text
    odd: Mapping[int, str] = field(default_factory=dict)
    is_hex: bool = False

    def __len__(self) -> int:
        return len(self.status)

    def words(self) -> npt.NDArray[np.generic]:
        """What stands for the value in a record: the data itself, or the hash of the bytes."""
        return self.data if self.data is not None else self._hashes

    @cached_property
    def _hashes(self) -> Words:
        """Once, however many indexes the column is in."""
        assert self.values is not None
        return hash_values(self.values)

    def text(self, row: int) -> str | None:
        """The canonical text of one row; None is NULL."""
        if self.status[row] == NULL:
            return None
        if self.status[row] == ODD:
            return _shown(self.odd[row])
        return self.show(row)

    def is_exact(self, row: int) -> bool:
        """Whether the text says just this value: it is not NULL, not odd, not bytes that are no text."""
        if self.status[row] != PRESENT:
            return False
        if self.values is None or self.is_hex:
            return True
        return bool(self.values[row].as_py() == self.show(row).encode("utf-8", "surrogatepass"))


def _shown(odd: str) -> str:
    """Bytes that are no UTF-8 are kept as surrogates, which no terminal and no JSON can show."""
    try:
        odd.encode()
    except UnicodeEncodeError:
        return "0x" + odd.encode("utf-8", "surrogateescape").hex()
    return odd


def odd_hashes(fields: list[Field], rows: int) -> Words | None:
    """For each row, the hash of its odd values with their places; None if there is no odd value."""
    parts: dict[int, list[bytes]] = {}
    for place, item in enumerate(fields):
        for row, text in item.odd.items():
            raw = text.encode("utf-8", "surrogateescape")
            parts.setdefault(row, []).append(b"%d:%d:" % (place, len(raw)) + raw)
    if not parts:
        return None
    hashes = np.zeros((rows, 2), dtype=np.uint64)
    hashes[list(parts)] = hash_values(pa.array([b"".join(p) for p in parts.values()], pa.large_binary()))
    return hashes
