"""What a move would promise, known before anything is touched."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tieout.model.moving import Consistency, Delivery


class TargetLevel(StrEnum):
    """What a target makes of changes that come to it, from the least to the most."""

    PRIMITIVE = "primitive"
    """Whatever comes is written: what comes twice is there twice."""
    UNIQUE_KEY = "unique-key"
    """What comes twice changes nothing: rows are found by their key."""
    LOGICAL_CLOCK = "logical-clock"
    """What was applied is known by its position, and not applied again: without a key, too."""
    TRANSACTION = "transaction"
    """And no part of a source's transaction is ever seen."""


class TableState(StrEnum):
    """What a target has of a table."""

    MISSING = "missing"
    """It will be made."""
    THERE = "there"
    """It was made by somebody, and is empty."""
    BEGUN = "begun"
    """It holds rows of this task."""


@dataclass(frozen=True, slots=True)
class MoveTableForecast:
    """How one table would be moved. `target_levels` are those that it can have, `target_level` the one that it gets.

    `promise` says in words what holds when a mover is killed.
    """

    source_table: str
    target_table: str
    state: TableState
    key: tuple[str, ...]
    target_levels: tuple[TargetLevel, ...]
    target_level: TargetLevel
    promise: str


@dataclass(frozen=True, slots=True)
class MoveForecast:
    """A task's move: what was chosen, and what the pair could give.

    `log_limit` says what ends the log that the task needs; `log_kept_bytes` is how much of it the source keeps for the
    task already, None if it keeps nothing for it.
    """

    delivery: Delivery
    deliveries: tuple[Delivery, ...]
    consistency: Consistency
    source_levels: tuple[Consistency, ...]
    tables: tuple[MoveTableForecast, ...]
    log_limit: str = ""
    log_kept_bytes: int | None = None


def levels_upto(most: TargetLevel, *, keyed: bool) -> tuple[TargetLevel, ...]:
    """What a table can have on a target that can do so much. Without a key, rows can't be found by it."""
    order = list(TargetLevel)
    found = order[: order.index(most) + 1]
    return tuple(level for level in found if keyed or level is not TargetLevel.UNIQUE_KEY)


def consistencies_upto(most: Consistency) -> tuple[Consistency, ...]:
    order = list(Consistency)
    return tuple(order[: order.index(most) + 1])


def deliveries_of(most: TargetLevel) -> tuple[Delivery, ...]:
    """What is not known to have been applied can't be left out, so that only one of two kills does no harm."""
    if most in (TargetLevel.LOGICAL_CLOCK, TargetLevel.TRANSACTION):
        return tuple(Delivery)
    return (Delivery.AT_LEAST_ONCE,)


def level_of(delivery: Delivery, *, keyed: bool) -> TargetLevel:
    """What a delivery makes of a table."""
    if delivery is Delivery.AT_LEAST_ONCE:
        return TargetLevel.UNIQUE_KEY if keyed else TargetLevel.PRIMITIVE
    return TargetLevel.TRANSACTION if delivery is Delivery.EXACTLY_ONCE else TargetLevel.LOGICAL_CLOCK


def promise_of(delivery: Delivery, *, keyed: bool) -> str:
    if delivery is Delivery.EXACTLY_ONCE:
        return "nothing is lost, nothing is there twice"
    if delivery is Delivery.AT_MOST_ONCE:
        return "nothing is there twice; killed, the last batch may be lost"
    if keyed:
        return "nothing is lost; what is applied twice changes nothing"
    return "nothing is lost; killed, the last batch may be there twice"
