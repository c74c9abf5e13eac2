"""Differences as they are found: counted all, kept up to a limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tieout.model.differences import Difference, DifferenceCounts
from tieout.model.truncated import LONGEST_KEPT, SHORTEST_KEPT
from tieout.verification.compare import Comparison, Shape


@dataclass(frozen=True, slots=True)
class Localised:
    """What a range's comparison found. `differences` may be fewer than `counts` says: the limit."""

    counts: DifferenceCounts
    differences: tuple[Difference, ...]
    source_rows: int
    target_rows: int
    rechecked: int = 0
    notes: tuple[str, ...] = field(default=())


KEPT_BYTES = 16 << 20
"""Of values that one range or bucket hands to the driver. From then on, only the beginnings of values are kept."""


class Found:
    """Differences as they come in, counted all and kept up to a limit."""

    def __init__(self, shape: Shape, limit: int | None) -> None:
        self.shape = shape
        self._limit = limit
        self._counts = DifferenceCounts()
        self._kept: list[Difference] = []
        self._bytes = 0
        self._source_rows = 0
        self._target_rows = 0
        self.rechecked = 0
        self._notes: dict[str, None] = {}

    def rows(self, source: int, target: int) -> None:
        self._source_rows += source
        self._target_rows += target

    def add(self, comparison: Comparison) -> None:
        self._counts += comparison.counts
        if comparison.ambiguous:
            self.ambiguous()
        for pair in comparison.pairs:
            if not self._keep(comparison.difference(pair, self.longest)):
                break

    def add_all(self, differences: Sequence[Difference]) -> None:
        for difference in differences:
            self._counts += DifferenceCounts(**{difference.kind.value: difference.copies})
        for difference in differences:
            if not self._keep(difference):
                break

    @property
    def longest(self) -> int:
        """The bytes of a value that the next difference may hold."""
        return LONGEST_KEPT if self._bytes < KEPT_BYTES else SHORTEST_KEPT

    def ambiguous(self) -> None:
        """A key is there twice on one side."""
        names = ", ".join(self.shape.columns[place] for place in self.shape.key)
        self._notes.setdefault(f"the key ({names}) is not unique; rows that share one were compared as a multiset")

    def _keep(self, difference: Difference) -> bool:
        """Whether there was room for it."""
        if self._limit is not None and len(self._kept) >= self._limit:
            return False
        difference = self.shape.shown(difference)
        self._kept.append(difference)
        values = [*difference.key.values(), *(v for p in difference.columns.values() for v in (p.source, p.target))]
        self._bytes += sum(len(value) for value in values if value is not None)
        return True

    def result(self) -> Localised:
        return Localised(
            self._counts, tuple(self._kept), self._source_rows, self._target_rows, self.rechecked, tuple(self._notes)
        )
