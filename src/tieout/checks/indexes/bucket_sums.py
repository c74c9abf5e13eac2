"""Sums of fingerprints by bucket: those of a table less those of its index are all zero if the two agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from tieout.canonical.hashing import Words

_LANES = 2


@dataclass(eq=False)
class Tally:
    """How many rows fell into each bucket, and the sums of their fingerprints, by lanes of 64 bits, modulo 2^64.

    A sum of lanes does not depend on the order of rows, and two faults do not cancel as they would under XOR.
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
