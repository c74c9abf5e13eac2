"""Dispatches work to Spark tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from pyspark.sql import SparkSession

from tieout.spark.executor_work import Outcome, Work, run_work

T = TypeVar("T")


def slots(spark: SparkSession) -> int:
    """The number of tasks that run at once."""
    return max(1, spark.sparkContext.defaultParallelism)


@dataclass(frozen=True, slots=True)
class SideSlots:
    """How many tasks read the source and the target of a verification at once.

    `shared`: each side allows connections for all tasks, so that a task may read both sides in turn.
    """

    source: int
    target: int
    shared: bool


def slots_of_sides(spark: SparkSession, connections: tuple[int, int], *, may_share: bool) -> SideSlots:
    """Half of the tasks for each side, within the most connections to it."""
    half = max(1, slots(spark) // 2)
    return SideSlots(min(half, connections[0]), min(half, connections[1]), may_share and 2 * half <= min(connections))


def deal(items: Sequence[T], hands: int) -> list[Sequence[T]]:
    """Deals items to `hands` lists, like cards; leaves out empty lists."""
    return [part for part in (items[hand::hands] for hand in range(hands)) if part]


def run_dealt(spark: SparkSession, work: Sequence[Work]) -> list[Outcome]:
    """The outcomes in the order of the work. Uses few tasks: starting one takes longer than a small piece of work."""
    if not work:
        return []
    hands = deal(work, 2 * slots(spark))
    outcomes = run_work(spark, hands)
    return [outcomes[number % len(outcomes)][number // len(outcomes)] for number in range(len(work))]


def rate_of_a_task(spark: SparkSession, rows_per_second: float | None) -> float | None:
    """The rate limit of one task, so that all tasks together keep the limit."""
    return None if rows_per_second is None else rows_per_second / slots(spark)
