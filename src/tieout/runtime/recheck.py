"""Looks again at what seems wrong, until it is certain: what is being written agrees at one of the looks, or changes.

Every flow that reads data which others write to has suspects, and one way to clear them: the policy says how many looks
in a row must find a suspect before it counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class RecheckPolicy:
    """At most `times` looks after the first, or as many as `agreeing` takes; `after` seconds before each.

    `agreeing`: so many looks in a row must find a suspect, the first one counted. `same_value`: and find the same wrong
    with it each time. `grows`: a look may add suspects that no look before it found.
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
    """`certain` was found by enough looks, as the last one saw it; `unstable` only by the last ones."""

    certain: Mapping[K, V]
    unstable: Mapping[K, V]


def recheck(
    suspects: Mapping[K, V],
    look_again: Callable[[Mapping[K, V]], Mapping[K, V]],
    policy: RecheckPolicy,
    wait: Callable[[float], None],
) -> Rechecked[K, V]:
    """`look_again` looks at least at these suspects and returns what is wrong now; `wait` may raise to end it all."""
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
    """What a look found, as suspects: what has the same identity can't be told apart, and is one suspect."""
    groups: dict[K, tuple[V, ...]] = {}
    for each in found:
        key = identity(each)
        groups[key] = (*groups.get(key, ()), each)
    return groups


def _count(policy: RecheckPolicy, seen: Mapping[K, int], before: Mapping[K, V], key: K, value: V) -> int:
    """How many looks in a row have found it, this one counted."""
    if key not in seen or (policy.same_value and before[key] != value):
        return 1
    return seen[key] + 1
