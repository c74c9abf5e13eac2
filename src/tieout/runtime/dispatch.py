"""Work on executors, dealt to a few tasks."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from tieout.spark.work import Outcome, Work, run_work


def done(spark: SparkSession, work: Sequence[Work]) -> list[Outcome]:
    """The outcomes in the order of the work."""
    if not work:
        return []
    outcomes = run_work(spark, dealt(spark, work))
    return [outcomes[number % len(outcomes)][number // len(outcomes)] for number in range(len(work))]


def dealt(spark: SparkSession, work: Sequence[Work]) -> list[Sequence[Work]]:
    """To a few tasks, like cards: to start one for each piece takes longer than the piece, if indexes are small."""
    tasks = min(len(work), 2 * max(1, spark.sparkContext.defaultParallelism))
    return [work[first::tasks] for first in range(tasks)]


def pace(spark: SparkSession, rows_per_second: float | None) -> float | None:
    """How fast one task may read, that all of them together read so fast."""
    return None if rows_per_second is None else rows_per_second / max(1, spark.sparkContext.defaultParallelism)
