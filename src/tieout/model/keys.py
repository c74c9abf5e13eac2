"""Keys and ranges of keys."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

Key = tuple[str, ...]
"""The values of a key's columns as canonical text; a dialect turns them into literals."""


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Rows with low <= key < high in the engine's own order; None leaves that side open."""

    low: Key | None = None
    high: Key | None = None

    def __str__(self) -> str:
        low = "-∞" if self.low is None else ", ".join(self.low)
        high = "∞" if self.high is None else ", ".join(self.high)
        return f"[{low} … {high})"


EVERYTHING = KeyRange()


def ranges_between(bounds: list[Key]) -> list[KeyRange]:
    """The len(bounds)+1 ranges that cover every key, split at `bounds` (which are in order)."""
    edges: list[Key | None] = [None, *bounds, None]
    return [KeyRange(low, high) for low, high in pairwise(edges)]
