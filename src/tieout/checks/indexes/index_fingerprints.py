"""Fingerprints of index entries (the address of a row, then the index's columns in order), and their sums by bucket.

They are not those of `canonical.fingerprint`: there the whole row is hashed as one record, so that a column in six
indexes would be copied and hashed six times. Here a column is hashed once, to 128 bits, and an index costs two
multiplications for each lane of each of its columns.

A fingerprint is two lanes of 64 bits. A column gives each lane a word; a lane takes in word after word, and mixes all
of its bits each time, so that words of other columns, the same ones in another order, or those of another row's address
give another result. The words contain each value and its status completely: by reversible steps, or as the 128-bit hash
of a value of variable length.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tieout.canonical.fields import ODD, PRESENT, Field
from tieout.canonical.hashing import Words, hash_values

_Lanes = npt.NDArray[np.uint64]
"""Shape (2, n): each lane is contiguous in memory."""

_ITEM = 16
_SEEDS = np.array([[0x243F6A8885A308D3], [0x13198A2E03707344]], dtype=np.uint64)
_STATUS = np.uint64(0xA4093822299F31D1)
"""Hexadecimal digits of pi: two initial values, and an odd number that spreads a status over all bits."""

_MIXERS = ((33, 0xFF51AFD7ED558CCD, 33, 0xC4CEB9FE1A85EC53, 33), (30, 0xBF58476D1CE4E5B9, 27, 0x94D049BB133111EB, 31))
"""One mixer for each lane: the last steps of MurmurHash3 and of SplitMix64. Each bit affects about half of all bits."""
_AT_ONCE = 1 << 14
"""Words to process at once, so that they stay in a core's cache from one step to the next."""


class BatchPrints:
    """The fingerprints of a batch's rows, for one index after another."""

    def __init__(self, address: Sequence[Field], fields: Sequence[Field]) -> None:
        self._fields = fields
        self._columns: dict[int, _Lanes] = {}
        rows = len((address or fields)[0])
        self._address = _after(np.repeat(_SEEDS, rows, axis=1), map(_lanes, address))

    def addresses(self) -> Words:
        """The fingerprints of the addresses only."""
        return self._address.T

    def of(self, columns: Iterable[int]) -> Words:
        """The fingerprints of the addresses with these columns."""
        return _after(self._address, map(self._column, columns)).T

    def _column(self, place: int) -> _Lanes:
        if place not in self._columns:
            self._columns[place] = _lanes(self._fields[place])
        return self._columns[place]


def _after(lanes: _Lanes, columns: Iterable[_Lanes]) -> _Lanes:
    """Mixes these columns into the lanes, one after another."""
    for column in columns:
        lanes = np.bitwise_xor(lanes, column, order="C")
        _mix(lanes[0], 0)
        _mix(lanes[1], 1)
    return lanes


def _lanes(field: Field) -> _Lanes:
    """A word of each value for each lane; both depend on the whole value."""
    if field.data is None:
        words = field.words().astype(np.uint64, copy=False).T
    else:
        words = _spread(_bare(field.data), np.uint64(0))
    absent = np.flatnonzero(field.status != PRESENT)
    if len(absent):
        words = words.copy()
        statuses = field.status[absent].astype(np.uint64) * _STATUS
        words[:, absent] = _spread(_odd_hashes(field, absent), statuses)
    return words


def _spread(words: _Lanes, status: npt.NDArray[np.uint64] | np.uint64) -> _Lanes:
    """Reversible steps, as in a Feistel network: two values with the same status never give the same words."""
    low, high = words
    right = low ^ status
    _mix(right, 0)
    right ^= high
    left = right.copy()
    _mix(left, 1)
    left ^= low
    return np.stack((left, right))


def _bare(data: npt.NDArray[np.generic]) -> _Lanes:
    """The bytes of each value, padded with zeros."""
    size = data.dtype.itemsize
    padded = np.zeros(len(data), dtype=[("value", f"V{size}"), ("rest", f"V{_ITEM - size}")])
    padded["value"] = np.ascontiguousarray(data).view(f"V{size}")
    return padded.view("<u8").reshape(-1, 2).T


def _odd_hashes(field: Field, rows: npt.NDArray[np.intp]) -> _Lanes:
    """The hashes of odd values in these rows, which have no present value; zero for NULL."""
    result = np.zeros((2, len(rows)), dtype=np.uint64)
    odd = np.flatnonzero(field.status[rows] == ODD)
    if len(odd):
        texts = [field.odd[row].encode("utf-8", "surrogateescape") for row in rows[odd].tolist()]
        result[:, odd] = hash_values(pa.array(texts, pa.large_binary())).T
    return result


def _mix(words: npt.NDArray[np.uint64], lane: int) -> None:
    """Mixes the words in place; no two different words become the same."""
    *steps, last = (np.uint64(number) for number in _MIXERS[lane])
    spare = np.empty(min(_AT_ONCE, len(words)), dtype=np.uint64)
    for start in range(0, len(words), _AT_ONCE):
        part = words[start : start + _AT_ONCE]
        shifted = spare[: len(part)]
        for shift, factor in (steps[:2], steps[2:]):
            part ^= np.right_shift(part, shift, out=shifted)
            part *= factor
        part ^= np.right_shift(part, last, out=shifted)


_LANES = 2


@dataclass(eq=False)
class Tally:
    """The number of rows in each bucket, and the sums of their fingerprints, by lanes of 64 bits, modulo 2^64.

    The sums of a table minus those of its index are all zero if the two agree. A sum does not depend on the order of
    rows, and two errors do not cancel each other as they would with XOR.
    """

    counts: npt.NDArray[np.int64]
    sums: npt.NDArray[np.uint64]

    @classmethod
    def empty(cls, buckets: int) -> Self:
        return cls(np.zeros(buckets, dtype=np.int64), np.zeros((_LANES, buckets), dtype=np.uint64))

    def take(self, prints: Words, places: npt.NDArray[np.uint32]) -> None:
        """Adds rows, each in its bucket."""
        self.counts += np.bincount(places, minlength=len(self.counts))
        for lane, total in enumerate(self.sums):
            np.add.at(total, places, prints[:, lane])

    def add(self, other: Tally) -> None:
        self.counts += other.counts
        self.sums += other.sums

    def subtract(self, other: Tally) -> None:
        self.counts -= other.counts
        self.sums -= other.sums

    def unbalanced(self) -> frozenset[int]:
        """The buckets that are not zero."""
        found = (self.counts != 0) | (self.sums != 0).any(axis=0)
        return frozenset(np.flatnonzero(found).tolist())

    def to_bytes(self) -> bytes:
        return self.counts.astype("<i8").tobytes() + self.sums.astype("<u8").tobytes()

    @classmethod
    def from_bytes(cls, packed: bytes) -> Self:
        words = np.frombuffer(packed, dtype="<u8").reshape(1 + _LANES, -1)
        return cls(words[0].astype(np.int64), words[1:].astype(np.uint64))
