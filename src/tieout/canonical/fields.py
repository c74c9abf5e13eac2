"""A column of a batch in canonical form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tieout.canonical.hashing import Words, hash_text, hash_values
from tieout.model.truncated import BEGINNING, LONGEST_KEPT, TruncatedText

PRESENT, NULL, ODD = 0, 1, 2
"""The status byte of a value. ODD: its form can't hold it (a zero date, infinity, text in an INTEGER column of SQLite);
its text represents such a value.
"""

Text = Callable[[int], str]


@dataclass(frozen=True)
class Field:
    """One column: a status for each row, and either fixed-width data or bytes of any length.

    `data` is a numpy array of n fixed-width items, `values` an Arrow binary array; one of them is None. `odd` maps rows
    to their text. `show` renders a present row as canonical text, always in hexadecimal if `is_hex`.
    """

    status: npt.NDArray[np.uint8]
    data: npt.NDArray[np.generic] | None
    values: pa.Array | None
    show: Text
    odd: Mapping[int, str] = field(default_factory=dict)
    is_hex: bool = False

    def __len__(self) -> int:
        return len(self.status)

    @property
    def nbytes(self) -> int:
        """The number of bytes that the values take in memory."""
        return int(self.data.nbytes if self.data is not None else self.values.nbytes if self.values is not None else 0)

    def words(self) -> npt.NDArray[np.generic]:
        """What represents the value in a record: the data itself, or the hash of the bytes."""
        return self.data if self.data is not None else self._hashes

    @cached_property
    def _hashes(self) -> Words:
        """Computed once, however many indexes the column is in."""
        assert self.values is not None
        return hash_values(self.values)

    def text(self, row: int) -> str | None:
        """The canonical text of one row; None is NULL."""
        if self.status[row] == NULL:
            return None
        if self.status[row] == ODD:
            return _shown(self.odd[row])
        return self.show(row)

    def mark(self, row: int) -> bytes:
        """What represents a value in the record of its row: two values of one kind are equal if their marks are."""
        status = bytes([int(self.status[row])])
        if self.status[row] == PRESENT:
            return status + bytes(self.words()[row].tobytes())
        if self.status[row] == NULL:
            return status
        return status + bytes(hash_values(pa.array([_raw(self.odd[row])], pa.large_binary())).tobytes())

    def size(self, row: int) -> int:
        """The size in bytes of a value's canonical form, whose hash is the mark; 0 if the mark is the value itself."""
        return len(_raw(self.odd[row])) if row in self.odd else 0 if self.values is None else int(self._sizes[row])

    @cached_property
    def _sizes(self) -> npt.NDArray[np.int64]:
        lengths = pc.fill_null(pc.binary_length(self.values), 0)
        return np.asarray(lengths.to_numpy(zero_copy_only=False), dtype=np.int64)

    def kept(self, row: int, longest: int = LONGEST_KEPT) -> str | None:
        """The canonical text of one row as reports store it: only the beginning if it has more than `longest` bytes."""
        size = self.size(row)
        if size <= longest:
            return self.text(row)
        if self.is_hex and self.values is not None and self.status[row] == PRESENT:
            text = "0x" + self.values[row].as_buffer()[: BEGINNING // 2].to_pybytes().hex()
        else:
            text = str(self.text(row))
        return kept_text(text, size, self.mark(row), longest)

    def is_exact(self, row: int) -> bool:
        """True if the text is exactly this value: not NULL, not odd, and not bytes that are invalid text."""
        if self.status[row] != PRESENT:
            return False
        if self.values is None or self.is_hex:
            return True
        return bool(self.values[row].as_py() == self.show(row).encode("utf-8", "surrogatepass"))


def _shown(odd: str) -> str:
    """Bytes that are not UTF-8 are stored as surrogates, which no terminal and no JSON can show."""
    try:
        odd.encode()
    except UnicodeEncodeError:
        return "0x" + odd.encode("utf-8", "surrogateescape").hex()
    return odd


def kept_text(text: str | None, size: int, mark: bytes, longest: int = LONGEST_KEPT) -> str | None:
    """What reports store of a value of this size: its text, or the beginning of it."""
    if text is None or size <= longest:
        return text
    beginning = text.beginning if isinstance(text, TruncatedText) else text
    return TruncatedText(beginning[: min(BEGINNING, longest)], size, hash_text(np.frombuffer(mark[1:], dtype="<u8")))


def _raw(odd: str) -> bytes:
    return odd.encode("utf-8", "surrogateescape")


def odd_hashes(fields: list[Field], rows: int) -> Words | None:
    """For each row, the hash of its odd values with their column indexes; None if there is no odd value."""
    parts: dict[int, list[bytes]] = {}
    for place, item in enumerate(fields):
        for row, text in item.odd.items():
            raw = _raw(text)
            parts.setdefault(row, []).append(b"%d:%d:" % (place, len(raw)) + raw)
    if not parts:
        return None
    hashes = np.zeros((rows, 2), dtype=np.uint64)
    hashes[list(parts)] = hash_values(pa.array([b"".join(p) for p in parts.values()], pa.large_binary()))
    return hashes


def status_of(array: pa.Array) -> npt.NDArray[np.uint8]:
    if array.null_count == 0:
        return np.full(len(array), PRESENT, dtype=np.uint8)
    return np.where(array.is_null().to_numpy(zero_copy_only=False), NULL, PRESENT).astype(np.uint8)


def to_numpy(array: pa.Array, dtype: str) -> npt.NDArray[Any]:
    """The values as numpy, with zero for NULL."""
    if array.null_count:
        array = pc.fill_null(array, pa.scalar(0, array.type))
    return np.asarray(array.to_numpy(zero_copy_only=False)).astype(dtype, copy=False)


def is_textual(array: pa.Array) -> bool:
    t = array.type
    return bool(pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_string_view(t))


def is_bytes(array: pa.Array) -> bool:
    t = array.type
    return bool(pa.types.is_binary(t) or pa.types.is_large_binary(t) or pa.types.is_fixed_size_binary(t))


def joined(array: pa.Array) -> bytes:
    """The bytes of all values of an array of large strings or large binary, one after another."""
    if not len(array):
        return b""
    _, offsets, data = array.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)
    first, last = ends[array.offset], ends[array.offset + len(array)]
    return b"" if data is None else data[int(first) : int(last)].to_pybytes()


def as_binary(array: pa.Array) -> pa.Array:
    return array if pa.types.is_large_binary(array.type) else array.cast(pa.large_binary())


def python_text(value: object) -> str:
    """A value of any type as text to show."""
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return "0x" + value.hex()
    return str(value)


def odd_text(value: object) -> str:
    """A value of any type as text to hash: bytes that are not UTF-8 become surrogates."""
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)
