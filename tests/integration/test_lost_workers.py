"""Python workers that the system kills, as it does when memory is short."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tieout.errors import SparkFailure
from tieout.move.following import _staged
from tieout.spark.work import SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_batch_whose_worker_is_killed(spark: SparkSession) -> None:
    """It comes out as an error that a mover knows, in one line."""

    def die(batches: Iterator[Any]) -> Iterator[Any]:
        os.kill(os.getpid(), signal.SIGKILL)
        yield from batches

    frame = spark.range(1).mapInArrow(die, SCHEMA)
    with pytest.raises(SparkFailure, match="a Spark job failed: ") as error:
        _staged(frame)
    assert "\n" not in error.value.message
