"""What a move can promise: delivery, consistency, and the levels of source and target that they need.

A source has the level that its log can give. A target has a level for each table, found by probing, and weakened by the
task's `target_level`. `promise_of` decides every combination; the documentation's table is made with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from tieout.model.moves import Consistency, Delivery


class TargetLevel(StrEnum):
    """How safely a target applies changes, from the least to the most."""

    PRIMITIVE = "primitive"
    """It writes every change: a change that comes twice is applied twice."""
    UNIQUE_KEY = "unique-key"
    """A change that comes twice changes nothing: rows have a key."""
    LOGICAL_CLOCK = "logical-clock"
    """It stores the applied position with the rows of a table, and skips what was applied: without a key, too."""
    TRANSACTION = "transaction"
    """And it applies a source's transaction of any size as one."""


def weaker(one: TargetLevel, other: TargetLevel | None) -> TargetLevel:
    order = list(TargetLevel)
    return one if other is None else order[min(order.index(one), order.index(other))]


def is_transactional(level: TargetLevel) -> bool:
    """Whether a target of this level writes rows and the applied position in one transaction."""
    return level in (TargetLevel.LOGICAL_CLOCK, TargetLevel.TRANSACTION)


def levels_upto(most: TargetLevel, *, keyed: bool) -> tuple[TargetLevel, ...]:
    """The levels that a table can have on a target of this level. Without a key, it can't find rows."""
    order = list(TargetLevel)
    found = order[: order.index(most) + 1]
    return tuple(level for level in found if keyed or level is not TargetLevel.UNIQUE_KEY)


def consistencies_upto(most: Consistency) -> tuple[Consistency, ...]:
    order = list(Consistency)
    return tuple(order[: order.index(most) + 1])


_STRONGEST = {
    TargetLevel.PRIMITIVE: Consistency.ROW,
    TargetLevel.UNIQUE_KEY: Consistency.ROW,
    TargetLevel.LOGICAL_CLOCK: Consistency.TABLE,
    TargetLevel.TRANSACTION: Consistency.TRANSACTION,
}


def consistencies_of(source: Consistency, targets: Iterable[TargetLevel]) -> tuple[Consistency, ...]:
    """What a source and all tables of a target can give together, the strongest last."""
    order = list(Consistency)
    return consistencies_upto(min([source, *(_STRONGEST[level] for level in targets)], key=order.index))


def deliveries_of(targets: Iterable[TargetLevel]) -> tuple[Delivery, ...]:
    """What all tables of a target can give, the strongest last. A target that does not store with the rows what was
    applied can promise only one.
    """
    if all(map(is_transactional, targets)):
        return tuple(Delivery)
    return (Delivery.AT_LEAST_ONCE,)


@dataclass(frozen=True, slots=True)
class Promise:
    """What holds for a table when a mover is killed at any moment, and what a reader of the target sees.

    `level`: the target level that it makes use of. `refused`: why the combination can't be promised, instead of both.
    """

    level: TargetLevel
    killed: str = ""
    seen: str = ""
    refused: str | None = None

    @property
    def words(self) -> str:
        return f"{self.killed}; {self.seen}"


_IN_PARTS = "rows may be missing while a batch is applied, and then each row is as the source had it"
_SEEN = {
    Consistency.ROW: "each row is as the source had it",
    Consistency.TABLE: "each table is as the source had it at one position",
    Consistency.TRANSACTION: "all tables are as the source had them at one position",
}


def promise_of(
    delivery: Delivery, consistency: Consistency, source: Consistency, target: TargetLevel, *, keyed: bool
) -> Promise:
    """Decides one combination for a table of a task."""
    level = _level_of(delivery, target, keyed=keyed)
    if consistency not in consistencies_upto(source):
        return Promise(level, refused=f"the source's log does not show which changes belong to one {consistency}")
    if delivery not in deliveries_of([target]):
        return Promise(level, refused=f"the target does not support {delivery}: {_WITHOUT[target]}")
    if consistency not in consistencies_of(source, [target]):
        return Promise(level, refused=f"the target does not support consistency {consistency}: {_SPLIT[target]}")
    return Promise(level, _killed(delivery, level), _seen(delivery, consistency, target, level))


_WITHOUT = {
    TargetLevel.PRIMITIVE: "it does not store the applied position with the rows",
    TargetLevel.UNIQUE_KEY: "it does not store the applied position with the rows",
}
_SPLIT = {
    TargetLevel.PRIMITIVE: "readers see parts of a batch",
    TargetLevel.UNIQUE_KEY: "readers see parts of a batch",
    TargetLevel.LOGICAL_CLOCK: "its transactions hold one table each",
}


def _level_of(delivery: Delivery, target: TargetLevel, *, keyed: bool) -> TargetLevel:
    if delivery is Delivery.AT_LEAST_ONCE:
        return weaker(target, TargetLevel.UNIQUE_KEY if keyed else TargetLevel.PRIMITIVE)
    return weaker(target, TargetLevel.TRANSACTION if delivery is Delivery.EXACTLY_ONCE else TargetLevel.LOGICAL_CLOCK)


def _seen(delivery: Delivery, consistency: Consistency, target: TargetLevel, level: TargetLevel) -> str:
    if not is_transactional(target):
        return _IN_PARTS
    if delivery is Delivery.AT_MOST_ONCE:
        return f"{_SEEN[consistency]}, without the changes that were lost"
    return f"{_SEEN[consistency]}, except for duplicates" if level is TargetLevel.PRIMITIVE else _SEEN[consistency]


def _killed(delivery: Delivery, level: TargetLevel) -> str:
    if delivery is Delivery.EXACTLY_ONCE:
        return "nothing is lost or duplicated"
    if delivery is Delivery.AT_MOST_ONCE:
        return "nothing is duplicated; if the mover is killed, the last batch may be lost"
    if level is TargetLevel.UNIQUE_KEY:
        return "nothing is lost; applying a change twice does no harm"
    return "no change is lost; if the mover is killed, equal rows of the last batch may be too many or too few"


@dataclass(frozen=True, slots=True)
class Levels:
    """What a task is moved with. `reasons` says why, for what the user did not choose."""

    delivery: Delivery
    consistency: Consistency
    reasons: tuple[str, ...] = ()


def choose(
    delivery: Delivery | None, consistency: Consistency | None, source: Consistency, targets: Iterable[TargetLevel]
) -> Levels:
    """What the user asked for, or else the strongest that the source and all tables of the target can give.

    It may be more than they can give: `promise_of` refuses that.
    """
    levels, reasons = tuple(targets), []
    if delivery is None:
        delivery = deliveries_of(levels)[-1]
        reasons.append(f"delivery {delivery}: the strongest that the target can give")
    if consistency is None:
        consistency = consistencies_of(source, levels)[-1]
        reasons.append(f"consistency {consistency}: the strongest that {_limit(consistency, source, levels)} can give")
    return Levels(delivery, consistency, tuple(reasons))


def _limit(chosen: Consistency, source: Consistency, targets: tuple[TargetLevel, ...]) -> str:
    if chosen is Consistency.TRANSACTION:
        return "the pair"
    return "the source" if consistencies_of(Consistency.TRANSACTION, targets)[-1] is not chosen else "the target"
