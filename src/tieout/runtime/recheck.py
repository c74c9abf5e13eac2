"""Rechecks what seems wrong until it is certain: data that is being written agrees in one of the readings, or changes.

Every flow that reads data while others write it has suspects, and clears them in the same way: the policy says how many
readings in a row must find a suspect before it counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class RecheckPolicy:
    """At most `times` rechecks, or as many as `agreeing` needs; `after` seconds before each.

    `agreeing`: the number of readings in a row that must find a suspect, including the first. `same_value`: and must
    find the same value each time. `grows`: a recheck may add suspects that no earlier reading found.
    """

    after: float
    times: int
    agreeing: int = 2
    same_value: bool = False
    grows: bool = False

    @property
    def looks(self) -> int:
        return max(self.times, self.agreeing - 1)


@dataclass(frozen=True)
class Rechecked(Generic[K, V]):
    """`certain` suspects were found by enough readings, with the last value; `unstable` ones only by the last
    readings.
    """

    certain: Mapping[K, V]
    unstable: Mapping[K, V]


def recheck(
    suspects: Mapping[K, V],
    look_again: Callable[[Mapping[K, V]], Mapping[K, V]],
    policy: RecheckPolicy,
    wait: Callable[[float], None],
) -> Rechecked[K, V]:
    """`look_again` reads at least these suspects again and returns what is wrong now; `wait` may raise to stop the
    job.
    """
    seen = dict.fromkeys(suspects, 1)
    for _ in range(policy.looks):
        if all(count >= policy.agreeing for count in seen.values()):
            break
        wait(policy.after)
        found = look_again(suspects)
        if not policy.grows:
            found = {key: value for key, value in found.items() if key in suspects}
        seen = {key: _count(policy, seen, suspects, key, value) for key, value in found.items()}
        suspects = found
    certain = {key: value for key, value in suspects.items() if seen[key] >= policy.agreeing}
    return Rechecked(certain, {key: value for key, value in suspects.items() if key not in certain})


def by_identity(found: Iterable[V], identity: Callable[[V], K]) -> dict[K, tuple[V, ...]]:
    """Groups what a reading found into suspects: findings with the same identity are one suspect."""
    groups: dict[K, tuple[V, ...]] = {}
    for each in found:
        key = identity(each)
        groups[key] = (*groups.get(key, ()), each)
    return groups


def _count(policy: RecheckPolicy, seen: Mapping[K, int], before: Mapping[K, V], key: K, value: V) -> int:
    """How many readings in a row have found it, including this one."""
    if key not in seen or (policy.same_value and before[key] != value):
        return 1
    return seen[key] + 1
