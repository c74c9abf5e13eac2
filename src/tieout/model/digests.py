"""The digest of a set of rows: how many, and the sum of their fingerprints."""

from __future__ import annotations

from dataclasses import dataclass

MODULUS = 1 << 128


@dataclass(frozen=True, slots=True)
class Digest:
    """Count and sum mod 2^128 of row fingerprints. Additive: a table's digest is that of its parts.

    A sum, never XOR (two equal rows would cancel). Two digests compare only if the fingerprints
    came from the same hash with the same seed.
    """

    count: int = 0
    total: int = 0

    def __add__(self, other: Digest) -> Digest:
        return Digest(self.count + other.count, (self.total + other.total) % MODULUS)

    def __sub__(self, other: Digest) -> Digest:
        return Digest(self.count - other.count, (self.total - other.total) % MODULUS)

    def to_text(self) -> str:
        return f"{self.count}:{self.total:032x}"

    @classmethod
    def from_text(cls, text: str) -> Digest:
        count, total = text.split(":")
        return cls(int(count), int(total, 16))


EMPTY = Digest()
