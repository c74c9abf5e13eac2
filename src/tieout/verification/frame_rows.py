"""Rows of frames on their way to the buckets where they are compared, and digests of those buckets: by Spark's own hash
for two frames, in canonical form beside a database.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from tieout.canonical.bucket_digests import add_buckets
from tieout.connectors.protocols.endpoint import Scan
from tieout.model.digests import Digest
from tieout.spark.executor_work import SCHEMA, map_batches
from tieout.spark.frames.spark_hash import KEY, ROW, SparkHash, bucket_of, bucket_sums, digest_of
from tieout.spark.frames.values import wired
from tieout.verification.bucket_rows import Sent, loose_rows
from tieout.verification.rows import fields_of
from tieout.verification.work import bucket_digests

Buckets = dict[int, Digest]

_WORDS = ("w0", "w1", "w2", "w3")
_SCHEMA = "bucket int, rows long, " + ", ".join(f"{word} long" for word in _WORDS)


def hashed_pair(rows: tuple[DataFrame, DataFrame], scans: tuple[Scan, Scan], seed: int) -> tuple[DataFrame, DataFrame]:
    """The rows of two frames with hashes that compare."""
    types = [[field.dataType for field in frame.schema.fields] for frame in rows]
    left = SparkHash(scans[0], types[1], seed).hashed(rows[0])
    return left, SparkHash(scans[1], types[0], seed).hashed(rows[1])


def native_digests(
    rows: tuple[DataFrame, DataFrame], scans: tuple[Scan, Scan], seed: int, buckets: int, *, both: bool = True
) -> tuple[Buckets, Buckets]:
    """The digests of both frames in one pass over them, or of the first alone. Hashed in the JVM."""
    left, right = (frame.withColumn("side", fn.lit(side)) for side, frame in enumerate(hashed_pair(rows, scans, seed)))
    names = ["side", "k0", "h0", "h1"]
    hashed = left.select(*names).unionAll(right.select(*names)) if both else left
    found: tuple[Buckets, Buckets] = {}, {}
    for side, bucket, count, *halves in bucket_sums(hashed, "side", buckets=buckets).collect():
        found[side][bucket] = digest_of(count, halves)
    return found


def pulled_digests(rows: DataFrame, scan: Scan, buckets: int) -> Buckets:
    """The digests of a frame in canonical form, hashed by Python workers; comparable with a database's."""
    parts = map_batches(wired(rows, scan), DigestBatches(scan, buckets).run, _SCHEMA)
    sums = parts.groupBy("bucket").agg(*(fn.sum(name).alias(name) for name in ("rows", *_WORDS)))
    return {bucket: digest_of(count, halves) for bucket, count, *halves in sums.collect()}


@dataclass(frozen=True)
class DigestBatches:
    """A function that Spark calls with the batches of a task."""

    scan: Scan
    buckets: int

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        total: Buckets = {}
        for batch in batches:
            add_buckets(total, bucket_digests(fields_of(self.scan, batch), self.scan.key, self.buckets))
        yield _batch(total)


def _batch(digests: Buckets) -> pa.RecordBatch:
    columns = {
        "bucket": pa.array(list(digests), pa.int32()),
        "rows": pa.array([digest.count for digest in digests.values()], pa.int64()),
    }
    for place, word in enumerate(_WORDS):
        parts = [digest.total >> (32 * place) & 0xFFFFFFFF for digest in digests.values()]
        columns[word] = pa.array(parts, pa.int64())
    return pa.RecordBatch.from_pydict(columns)


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
