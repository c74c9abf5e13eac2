"""What seems wrong is looked at again: what is being written agrees at one of the looks, or changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tieout.scrub.indexes.mismatches import Mismatch

Place = tuple[int, object]
Places = dict[Place, Mismatch]
"""What disagrees, by index and address."""


AT_ONE_MOMENT, AT_NO_MOMENT = 2, 3
"""How many looks in a row must agree, where rows and entries are seen at one moment, and where they are not.

Two do not where addresses are used again by the second: a row that was written meanwhile may be back where it was, and
its entry not yet, as at the look before.
"""


@dataclass(frozen=True)
class Settled:
    """What was the same at enough looks; and what was wrong at every look, but not the same at so many of the last."""

    mismatches: tuple[Mismatch, ...]
    unsettled: frozenset[Place]


def settle(
    suspects: Places, again: Callable[[Places], Places], times: int, rest: Callable[[], None], *, agreeing: int
) -> Settled:
    """`again` looks at least at these places; so many `times`, with a `rest` before each.

    `agreeing`: so many looks in a row must be the same, the first one counted.
    """
    seen = dict.fromkeys(suspects, 1)
    for _ in range(max(times, agreeing - 1)):
        if all(count >= agreeing for count in seen.values()):
            break
        rest()
        found = {place: mismatch for place, mismatch in again(suspects).items() if place in suspects}
        seen = {place: seen[place] + 1 if suspects[place] == mismatch else 1 for place, mismatch in found.items()}
        suspects = found
    settled = {place: mismatch for place, mismatch in suspects.items() if seen[place] >= agreeing}
    return Settled(tuple(settled.values()), frozenset(suspects.keys() - settled.keys()))
