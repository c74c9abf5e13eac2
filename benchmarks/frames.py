"""`tieout.compare` of two DataFrames, beside `exceptAll` both ways."""

from __future__ import annotations

import time
from pathlib import Path

from pyspark.sql import SparkSession

import tieout
from benchmarks.ours import Timed
from tieout.model.results import Verdict

PEER = "exceptAll both ways"


class NotThereYet(Exception):
    """Something to measure that this version of Tieout does not have."""


def compare(spark: SparkSession, directories: tuple[Path, Path]) -> Timed:
    function = getattr(tieout, "compare", None)
    if function is None:
        raise NotThereYet("tieout.compare is not there yet")
    started = time.perf_counter()
    left, right = (spark.read.parquet(str(directory)) for directory in directories)
    result = function(left, right, key=["id"])
    seconds = time.perf_counter() - started
    return Timed(seconds, None if result.verdict is Verdict.EQUAL else f"tieout said {result.verdict}")


def except_all(spark: SparkSession, directories: tuple[Path, Path]) -> Timed:
    started = time.perf_counter()
    left, right = (spark.read.parquet(str(directory)) for directory in directories)
    found = left.exceptAll(right).count() + right.exceptAll(left).count()
    seconds = time.perf_counter() - started
    return Timed(seconds, f"exceptAll found {found} rows" if found else None)
