"""Tieout, timed: in this process on a warm session, or as a fresh command."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from benchmarks.databases import TABLE, Pair
from benchmarks.sheet import Timed
from benchmarks.states import State
from tieout import api
from tieout.spark.session import start_session


def start_warm_session() -> SparkSession:
    """A session that has run one query on a Python data source."""
    spark = start_session()

    class Reader(DataSourceReader):
        def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
            yield pa.RecordBatch.from_pydict({"n": [1, 2, 3]})

    class Source(DataSource):  # in here, so that it travels by value
        @classmethod
        def name(cls) -> str:
            return "warm_up"

        def schema(self) -> str:
            return "n long"

        def reader(self, schema: Any) -> DataSourceReader:
            return Reader()

    spark.dataSource.register(Source)
    assert spark.read.format("warm_up").load().count() == 3
    return spark


def verify(spark: SparkSession, pair: Pair, bits: int, state: State, scratch: Path) -> Timed:
    started = time.perf_counter()
    result = api.verify(pair.source.url, pair.target.url, [TABLE], spark=spark, meta=_meta(scratch), hash_bits=bits)
    seconds = time.perf_counter() - started
    (table,) = result.tables
    differences = table.differences
    found = (result.verdict, differences.missing, differences.extra, differences.changed)
    return Timed(seconds, _wrong(state, *found, reason=table.reason))


def command(pair: Pair, bits: int, scratch: Path) -> list[str]:
    ends = ["--source", pair.source.url, "--target", pair.target.url, "--table", TABLE]
    how = ["--hash-bits", str(bits), "--meta", _meta(scratch), "--output", "json", "--quiet"]
    return [sys.executable, "-m", "tieout", "verify", *ends, *how]


def verify_fresh(pair: Pair, bits: int, state: State, scratch: Path) -> Timed:
    """The command line, from nothing to its exit: Python and Spark start too."""
    started = time.perf_counter()
    ended = subprocess.run(command(pair, bits, scratch), check=False, capture_output=True, text=True)
    return Timed(time.perf_counter() - started, wrong_output(ended.stdout, ended.stderr, state))


def wrong_output(stdout: str, stderr: str, state: State) -> str | None:
    if not stdout.strip():
        return f"tieout said: {' '.join(stderr.split())[:200]}"
    document = json.loads(stdout)
    (table,) = document["tables"]
    counts = table["differences"]
    found = (document["verdict"], counts["missing"], counts["extra"], counts["changed"])
    return _wrong(state, *found, reason=table["reason"])


def _wrong(state: State, verdict: str, missing: int, extra: int, changed: int, reason: str | None) -> str | None:
    counts = state.counts
    if (verdict, missing, extra, changed) == (state.verdict, counts.missing, counts.extra, counts.changed):
        return None
    said = f"tieout said {verdict}, {missing} missing, {extra} extra, {changed} changed"
    return f"{said} ({reason})" if reason else said


def _meta(scratch: Path) -> str:
    return f"sqlite:///{scratch / 'meta.db'}"
