"""`tieout.compare` of two DataFrames, beside `exceptAll` both ways."""

from __future__ import annotations

import time
from pathlib import Path

import polars as pl
from pyspark.sql import DataFrame, SparkSession

import tieout
from benchmarks.rows import write_parquet
from benchmarks.settings import Settings
from benchmarks.sheet import Measurement, Sheet, Timed
from tieout.model.results import Verdict

_PEER = "exceptAll both ways"
_BAR = 0.2


def compare_frames(settings: Settings, sheet: Sheet, spark: SparkSession, rows: pl.DataFrame, scratch: Path) -> None:
    if not hasattr(tieout, "compare"):
        wrong = "this version has no tieout.compare"
        sheet.add(Measurement("compare", None, _PEER, None, _BAR, wrong=wrong))
        return
    directories = scratch / "a.parquet", scratch / "b.parquet"
    write_parquet(rows, directories)
    mine: list[Timed] = []
    theirs: list[Timed] = []
    for _ in range(settings.runs):
        mine.append(_compare(*_frames(spark, directories)))
        theirs.append(_except_all(*_frames(spark, directories)))
    sheet.add_best("compare", mine, _PEER, theirs, _BAR)


def _frames(spark: SparkSession, directories: tuple[Path, Path]) -> tuple[DataFrame, DataFrame]:
    left, right = (spark.read.parquet(str(directory)) for directory in directories)
    return left, right


def _compare(left: DataFrame, right: DataFrame) -> Timed:
    started = time.perf_counter()
    result = tieout.compare(left, right, key=["id"])
    seconds = time.perf_counter() - started
    return Timed(seconds, None if result.verdict is Verdict.EQUAL else f"tieout said {result.verdict}")


def _except_all(left: DataFrame, right: DataFrame) -> Timed:
    started = time.perf_counter()
    found = left.exceptAll(right).count() + right.exceptAll(left).count()
    return Timed(time.perf_counter() - started, f"exceptAll found {found} rows" if found else None)
