"""The rows of frames that may differ, on their way to the buckets where they are compared."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from tieout.connectors.protocols.endpoint import Scan
from tieout.spark.lanes import KEY, ROW, bucket_of
from tieout.spark.wire import wired
from tieout.spark.work import SCHEMA
from tieout.spark.workers import map_batches
from tieout.verification.bucketrows import Sent, loose_rows
from tieout.verification.framedigests import hashed_pair
from tieout.verification.rows import fields_of


@dataclass(frozen=True)
class SendRows:
    """A function that Spark calls with the batches of a task: rows of wanted buckets (None: of all), by bucket."""

    scan: Scan
    is_source: bool
    buckets: int
    wanted: frozenset[int] | None = None

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        wanted = frozenset(range(self.buckets)) if self.wanted is None else self.wanted
        for batch in batches:
            fields = fields_of(self.scan, batch)
            found = loose_rows(fields, self.scan, self.is_source, self.buckets, wanted)
            payloads = [pickle.dumps(Sent(self.is_source, 0, 0, tuple(rows))) for rows in found.values()]
            yield pa.RecordBatch.from_pydict(
                {
                    "work": pa.array([0] * len(found), pa.int64()),
                    "bucket": pa.array(list(found), pa.int32()),
                    "payload": pa.array(payloads, pa.binary()),
                }
            )


def bucket_rows(rows: DataFrame, send: SendRows) -> DataFrame:
    """Rows of a frame as a frame of payloads; those of other buckets than wanted stay where they are."""
    return map_batches(wired(rows, send.scan), send.run, SCHEMA)


def suspect_rows(
    rows: tuple[DataFrame, DataFrame],
    scans: tuple[Scan, Scan],
    seed: int,
    native: tuple[int, frozenset[int]],
    buckets: int,
) -> DataFrame:
    """Payloads of the rows of two frames whose keys have not the same rows on both sides.

    `native` are the number of buckets that Spark's hash made and those that differ. What remains is put into
    `buckets` by the canonical hash: a key may hash differently on the two sides and still be the same.
    """
    many, wanted = native
    pair = hashed_pair(rows, scans, seed)
    if len(wanted) < many:
        pair = tuple(frame.where(bucket_of(many).isin(sorted(wanted))) for frame in pair)  # type: ignore[assignment]
    signed = [frame.select(*KEY, *ROW, fn.lit(sign).alias("sign")) for frame, sign in zip(pair, (1, -1), strict=True)]
    net = reduce(DataFrame.unionAll, signed).groupBy(*KEY, *ROW).agg(fn.sum("sign").alias("net"))
    keys = net.where(fn.col("net") != 0).select(*KEY).distinct()
    sent = [
        bucket_rows(frame.join(keys, list(KEY), "leftsemi"), SendRows(scan, is_source, buckets))
        for frame, scan, is_source in zip(pair, scans, (True, False), strict=True)
    ]
    return sent[0].unionAll(sent[1])
