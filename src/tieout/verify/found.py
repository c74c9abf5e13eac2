"""Differences as they are found: counted all, kept up to a limit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tieout.model.differences import Difference, DifferenceCounts
from tieout.model.keys import Key
from tieout.verify.compare import Comparison, Shape


@dataclass(frozen=True, slots=True)
class Localised:
    """What a range's comparison found. `differences` may be fewer than `counts` says: the limit."""

    counts: DifferenceCounts
    differences: tuple[Difference, ...]
    source_rows: int
    target_rows: int
    rechecked: int = 0
    notes: tuple[str, ...] = field(default=())


class Found:
    """Differences as they come in, counted all and kept up to a limit."""

    def __init__(self, shape: Shape, limit: int | None) -> None:
        self.shape = shape
        self._limit = limit
        self._counts = DifferenceCounts()
        self._kept: list[Difference] = []
        self._source_rows = 0
        self._target_rows = 0
        self.rechecked = 0
        self._notes: dict[str, None] = {}

    def rows(self, source: int, target: int) -> None:
        self._source_rows += source
        self._target_rows += target

    def add(self, comparison: Comparison) -> None:
        self._counts += comparison.counts
        if comparison.ambiguous is not None:
            self.ambiguous(comparison.ambiguous)
        self._keep(comparison.differences())

    def add_all(self, differences: Sequence[Difference]) -> None:
        for difference in differences:
            self._counts += DifferenceCounts(**{difference.kind.value: difference.copies})
        self._keep(differences)

    def ambiguous(self, key: Key) -> None:
        """A key that is there twice on one side."""
        names = ", ".join(self.shape.columns[place] for place in self.shape.key)
        self._notes.setdefault(f"the key ({names}) is not unique; rows that share one were compared as a multiset")

    def _keep(self, differences: Iterable[Difference]) -> None:
        for difference in differences:
            if self._limit is not None and len(self._kept) >= self._limit:
                break
            self._kept.append(self.shape.shown(difference))

    def result(self) -> Localised:
        return Localised(
            self._counts, tuple(self._kept), self._source_rows, self._target_rows, self.rechecked, tuple(self._notes)
        )
