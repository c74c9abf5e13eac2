"""The bucket digests of frames: by Spark's own hash for two frames, in canonical form beside a database."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from tieout.canonical.bucketing import add_buckets
from tieout.connectors.protocols.endpoint import Scan
from tieout.model.digests import Digest
from tieout.spark.lanes import Lanes, bucket_sums, digest_of
from tieout.spark.wire import wired
from tieout.spark.workers import map_batches
from tieout.verification.rows import fields_of
from tieout.verification.work import bucket_digests

Buckets = dict[int, Digest]

_WORDS = ("w0", "w1", "w2", "w3")
_SCHEMA = "bucket int, rows long, " + ", ".join(f"{word} long" for word in _WORDS)


def hashed_pair(rows: tuple[DataFrame, DataFrame], scans: tuple[Scan, Scan], seed: int) -> tuple[DataFrame, DataFrame]:
    """The rows of two frames with hashes that compare."""
    types = [[field.dataType for field in frame.schema.fields] for frame in rows]
    left = Lanes(scans[0], types[1], seed).hashed(rows[0])
    return left, Lanes(scans[1], types[0], seed).hashed(rows[1])


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
