"""What seems wrong is looked at again: what is being written agrees at one of the looks, or changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tieout.scrub.indexes.mismatches import Mismatch

Place = tuple[int, object]
Places = dict[Place, Mismatch]
"""What disagrees, by index and address."""


@dataclass(frozen=True)
class Settled:
    """What was the same at two looks; and what was wrong at every look, each time otherwise."""

    mismatches: tuple[Mismatch, ...]
    unsettled: frozenset[Place]


def settle(suspects: Places, again: Callable[[Places], Places], times: int, rest: Callable[[], None]) -> Settled:
    """`again` looks at least at these places; so many `times`, with a `rest` before each."""
    settled = suspects
    for _ in range(times):
        if not suspects:
            break
        rest()
        found = again(suspects)
        settled = {place: m for place, m in found.items() if suspects.get(place) == m}
        suspects = {place: m for place, m in found.items() if place in suspects}
        if len(settled) == len(suspects):
            break
    return Settled(tuple(settled.values()), frozenset(suspects.keys() - settled.keys()))
