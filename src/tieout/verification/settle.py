"""Rows that differ while their table is written to: another look before they count."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from tieout.model.differences import Difference
from tieout.model.keys import Key
from tieout.runtime.ranges import Portions
from tieout.runtime.recheck import RecheckPolicy, recheck
from tieout.verification.compare import Comparison, compare_rows, selected
from tieout.verification.found import Found
from tieout.verification.plan import TablePlan
from tieout.verification.rows import LOOKUP, look_up_rows

MOST_SUSPECTS = 20_000
"""Keys that wait for another look at the same time."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to give a row that differs, if its table is being written to.

    `marks` are the two sides' activity marks from before anything was read; None: it can't be told, so
    assume writes.
    """

    after: float
    times: int
    marks: tuple[str | None, str | None]


class Settler:
    """Takes differences to `found`: at once if nothing was written since the verification began, else after
    their rows were read again, up to so many times, and still differ. Rows wait together, not one by one."""

    def __init__(self, plan: TablePlan, patience: Patience, found: Found) -> None:
        self._plan = plan
        self._patience = patience
        self._found = found
        self._suspects: dict[bytes, Key] = {}

    def add(self, comparison: Comparison) -> None:
        if not comparison.pairs or not self._must_wait():
            self._found.add(comparison)
            return
        keys = [(pair, *comparison.key(pair)) for pair in comparison.pairs]
        # A row without a key, or with one that no literal finds again, can't be looked up.
        self._found.add(selected(comparison, [pair for pair, _, key in keys if key is None]))
        self._wait_for({hashed: key for _, hashed, key in keys if key is not None})

    def add_differences(self, keys: Mapping[bytes, Key], differences: Sequence[Difference]) -> None:
        """The same for differences whose rows are not held any more; `keys` are those of all of them, by their hash."""
        if not differences or not self._must_wait():
            self._found.add_all(differences)
        else:
            self._wait_for(keys)

    def finish(self) -> None:
        """After the last difference: looks again at all that wait."""
        suspects, self._suspects = self._suspects, {}
        # A row that agrees at one look is equal: only what differs at every look counts.
        policy = RecheckPolicy(self._patience.after, self._patience.times, agreeing=self._patience.times + 1)
        left = count(policy.looks - 1, -1)

        def look_again(keys: Mapping[bytes, Key]) -> dict[bytes, Key]:
            is_last = not next(left)
            self._found.rechecked += len(keys)
            differing: dict[bytes, Key] = {}
            for comparison in self._look_again(keys):
                differing |= {hashed: keys[hashed] for pair in comparison.pairs for hashed, _ in [comparison.key(pair)]}
                if is_last:
                    self._found.add(comparison)
            return differing

        recheck(suspects, look_again, policy, time.sleep)

    def _must_wait(self) -> bool:
        return self._patience.times > 0 and written(self._plan, self._patience)

    def _wait_for(self, keys: Mapping[bytes, Key]) -> None:
        self._suspects |= keys
        if len(self._suspects) >= MOST_SUSPECTS:
            self.finish()

    def _look_again(self, keys: Mapping[bytes, Key]) -> Iterator[Comparison]:
        """Both sides of these keys, read anew: as many at once as there is room for, but all where a side is read to
        its end for it."""
        sides = self._plan.source, self._plan.target
        portions = Portions(LOOKUP)
        finds = all(side.reader.finds(side.scan) for side in sides)
        for some in map(dict, portions.of(iter(keys.items())) if finds else [keys]):
            asked = list(some.values())
            source, target = (look_up_rows(side.reader, side.scan, asked, some.keys()) for side in sides)
            yield compare_rows(self._found.shape, source, target)
            if finds:
                portions.took(max(source.size, target.size))


def written(plan: TablePlan, patience: Patience) -> bool:
    """Whether either side may have been written to since the verification began."""
    now = (plan.source.reader.activity(), plan.target.reader.activity())
    return None in now or None in patience.marks or now != patience.marks
