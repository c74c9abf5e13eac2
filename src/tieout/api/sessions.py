"""The Spark session that work runs on: the caller's own, or one that is started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tieout.model.defaults import SPARK_MASTER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """The session to start, for who does not bring one. `verbose` lets Spark's own log through."""

    master: str = SPARK_MASTER
    conf: Mapping[str, str] = field(default_factory=dict)
    verbose: bool = False


def session_of(spark: SparkSession | SparkSettings | None) -> SparkSession:
    """SparkFailure, with the remedy, if work can't run in it."""
    from tieout.spark.session import start_session, usable

    if spark is not None and not isinstance(spark, SparkSettings):
        return usable(spark)
    settings = spark or SparkSettings()
    return usable(start_session(settings.master, settings.conf, verbose=settings.verbose))
