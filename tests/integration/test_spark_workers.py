"""Python processes of a session that Tieout started."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark

from tieout.spark.executor_work import map_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_they_import_what_is_installed_and_collect_no_modules(spark: SparkSession) -> None:
    def told(batches):
        import gc

        import pyarrow
        import pyspark

        for _ in batches:
            yield pyarrow.RecordBatch.from_pydict({"pyspark": [pyspark.__file__], "kept": [gc.get_freeze_count()]})

    # There may be several, which take turns.
    rows = [map_batches(spark.range(1).coalesce(1), told, "pyspark string, kept long").collect()[0] for _ in range(6)]
    assert {Path(row.pyspark) for row in rows} == {Path(pyspark.__file__)}
    assert rows[-1].kept > 10_000
    assert os.environ["PYSPARK_PYTHON"] == sys.executable, "processes that outlive this one would look for another"
