"""One row that is not the same on both sides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class DifferenceKind(StrEnum):
    MISSING = "missing"
    """On the source, not on the target."""
    EXTRA = "extra"
    """On the target, not on the source."""
    CHANGED = "changed"
    """On both, with other values."""


@dataclass(frozen=True, slots=True)
class ValuePair:
    """A column's two values as canonical text; None is NULL, and a TruncatedText the beginning of a long one."""

    source: str | None
    target: str | None


@dataclass(frozen=True, slots=True)
class Difference:
    """`key` maps key columns to canonical text (all columns, if the table has no key).

    `columns` holds, for CHANGED, the columns that differ and nothing else; for MISSING and EXTRA it is
    empty. Names are the source's. `copies` counts equal rows of a table without a key.
    """

    table: str
    kind: DifferenceKind
    key: Mapping[str, str | None]
    columns: Mapping[str, ValuePair] = field(default_factory=dict)
    copies: int = 1


@dataclass(frozen=True, slots=True)
class DifferenceCounts:
    missing: int = 0
    extra: int = 0
    changed: int = 0

    def __add__(self, other: DifferenceCounts) -> DifferenceCounts:
        return DifferenceCounts(self.missing + other.missing, self.extra + other.extra, self.changed + other.changed)

    def __bool__(self) -> bool:
        return self.total > 0

    @property
    def total(self) -> int:
        return self.missing + self.extra + self.changed
