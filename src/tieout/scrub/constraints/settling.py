"""Looks, and looks again, before a row is said to break a constraint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from tieout.connectors.violations import Violations
from tieout.errors import TieoutError
from tieout.runtime.dispatch import done, pace
from tieout.scrub.constraints.looking import MOST, Breaker, Look, Seen, Values
from tieout.scrub.options import CheckOptions
from tieout.spark.work import Work


@dataclass
class Settled:
    """What came of one constraint. `unsettled` broke it at the last look and at none before. `cut`: there may be more.

    `unlisted` rows break it or one that was asked with it: see Seen. `error` is what kept it from being asked.
    """

    rows: int = 0
    breakers: list[Breaker] = field(default_factory=list)
    unsettled: int = 0
    unlisted: int = 0
    cut: bool = False
    error: TieoutError | None = None


@dataclass
class Settling:
    """`rest` waits so many seconds, or raises to end it all."""

    spark: SparkSession
    options: CheckOptions
    rest: Callable[[float], None]

    def run(self, asked: Sequence[Violations]) -> list[list[Settled]]:
        """For each of what is asked, what came of its constraints."""
        first = self._look(asked)
        settled = [
            [Settled(seen.rows, cut=number in seen.cut) for number in range(len(seen.breakers))]
            if isinstance(seen, Seen)
            else [Settled(error=seen) for _ in violations.constraints]
            for violations, seen in zip(asked, first, strict=True)
        ]
        wrong = [place for place, seen in enumerate(first) if isinstance(seen, Seen) and _is_wrong(seen)]
        if wrong:
            self._settle(
                [asked[place] for place in wrong], [first[place] for place in wrong], [settled[p] for p in wrong]
            )
        return settled

    def _settle(
        self, asked: Sequence[Violations], first: Sequence[Seen | TieoutError], settled: Sequence[list[Settled]]
    ) -> None:
        """A row is named if two looks in a row found that it breaks the constraint, whatever its values were."""
        before, after = list(first), list(first)
        for _ in range(max(1, self.options.recheck_times)):
            self.rest(self.options.recheck_after)
            before, after = after, list(self._look(asked))
            if not any(_unsettled(*pair) for pair in zip(before, after, strict=True)):
                break
        for old, new, results in zip(before, after, settled, strict=True):
            for number, result in enumerate(results):
                if isinstance(new, TieoutError):
                    result.error = new
                    continue
                known = _identities(old, number)
                result.breakers = [each for each in new.breakers[number] if each.identity in known]
                result.unsettled = len(new.breakers[number]) - len(result.breakers)
                result.unlisted = new.unlisted
                result.cut = number in new.cut

    def _look(self, asked: Sequence[Violations]) -> list[Seen | TieoutError]:
        """All of it at once."""
        rate = pace(self.spark, self.options.max_rows_per_second)
        work: list[tuple[int, Work]] = [
            (place, Look(violations, part, rate)) for place, violations in enumerate(asked) for part in violations.parts
        ]
        outcomes = done(self.spark, [piece for _, piece in work])
        seen: list[Seen | TieoutError] = [Seen(0, [[] for _ in violations.constraints]) for violations in asked]
        for (place, _), outcome in zip(work, outcomes, strict=True):
            total = seen[place]
            if isinstance(total, TieoutError):
                continue
            if outcome.error is not None:
                seen[place] = outcome.error
            else:
                _add(total, outcome.only())
        return seen


def _add(total: Seen, more: Seen) -> None:
    total.rows += more.rows
    total.unlisted += more.unlisted
    total.cut |= more.cut
    for number, (listed, found) in enumerate(zip(total.breakers, more.breakers, strict=True)):
        listed.extend(found[: MOST - len(listed)])
        if len(listed) == MOST:
            total.cut.add(number)


def _is_wrong(seen: Seen) -> bool:
    return any(seen.breakers) or seen.unlisted > 0


def _unsettled(before: Seen | TieoutError, after: Seen | TieoutError) -> bool:
    """Whether there is a row that the look before did not find, or that nobody names."""
    if isinstance(after, TieoutError):
        return False
    return after.unlisted > 0 or any(
        each.identity not in _identities(before, number)
        for number, found in enumerate(after.breakers)
        for each in found
    )


def _identities(seen: Seen | TieoutError, number: int) -> set[Values]:
    return set() if isinstance(seen, TieoutError) else {each.identity for each in seen.breakers[number]}
