"""What is said of a Spark session that work can't run in; test_own_session.py has sessions that are so."""

from __future__ import annotations

import pytest

from tieout.errors import SparkFailure, UsageError
from tieout.spark.errors import worker_error
from tieout.spark.session import usable


def test_what_is_no_session_is_refused() -> None:
    with pytest.raises(UsageError, match="str is not a Spark session"):
        usable("local[2]")


def test_a_session_of_spark_connect_is_told_by_its_class() -> None:
    remote = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})
    with pytest.raises(SparkFailure, match="Tieout's work can't run in a session of Spark Connect"):
        usable(remote())


def test_other_failures_of_spark_are_not_taken_for_one_of_its_processes() -> None:
    said = "[CAST_INVALID_INPUT] The value 'ModuleNotFoundError: No module named 'tieout'' can't be cast"
    assert worker_error(said) is None
