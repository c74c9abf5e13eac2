"""The Spark session that work runs in: the caller's own, or a new one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tieout.model.defaults import SPARK_MASTER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """The session to start if the caller does not bring one. `verbose` shows Spark's own log."""

    master: str = SPARK_MASTER
    conf: Mapping[str, str] = field(default_factory=dict)
    verbose: bool = False


def session_of(spark: SparkSession | SparkSettings | None) -> SparkSession:
    """The caller's session or a new one. SparkFailure says what to do if work can't run in it."""
    from tieout.spark.session import start_session, usable

    if spark is not None and not isinstance(spark, SparkSettings):
        return usable(spark)
    settings = spark or SparkSettings()
    return usable(start_session(settings.master, settings.conf, verbose=settings.verbose))
