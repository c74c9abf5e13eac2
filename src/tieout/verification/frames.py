"""Work on sides that only a Spark session can read: Spark jobs that the driver starts beside the work of executors.

Digests of two frames use Spark's own hash; beside a database, rows are hashed in canonical form. Rows of buckets that
differ are sent to the tasks that compare them.
"""

from __future__ import annotations

import pickle
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import inheritable_thread_target
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from tieout.canonical.bucket_digests import add_buckets, bucket_count, pack_buckets
from tieout.connectors.protocols.endpoint import Reader, Scan
from tieout.errors import SparkFailure, TieoutError
from tieout.model.digests import EMPTY, Digest
from tieout.model.keys import EVERYTHING
from tieout.model.results import Strategy
from tieout.spark.errors import frame_errors
from tieout.spark.executor_work import SCHEMA, Outcome, Work, interruptible, map_batches, run_work
from tieout.spark.frames.endpoint import FrameReader
from tieout.spark.frames.spark_hash import KEY, ROW, SparkHash, bucket_of, bucket_sums, digest_of
from tieout.spark.frames.values import selected, wired
from tieout.verification.bucket_rows import Sent, loose_rows
from tieout.verification.parts import is_transformed, parts_of
from tieout.verification.plan import Side, TablePlan
from tieout.verification.rows import fields_of
from tieout.verification.transformed import Reading, transformed_count, transformed_digests
from tieout.verification.work import BucketDigests, CountRange, bucket_digests

if TYPE_CHECKING:  # It loads the meta store. Executors load this file for their work, and have none.
    from tieout.verification.table_state import TableRun

_AT_ONCE = 4


def is_native_pair(plan: TablePlan) -> bool:
    """Whether both sides are frames that Spark hashes itself."""
    return plan.strategy is Strategy.NATIVE and not plan.aligned


def rows_of(spark: SparkSession, side: Side) -> DataFrame:
    """The rows and columns of a side that is a frame."""
    assert isinstance(side.reader, FrameReader)
    with _faults(side):
        return selected(side.reader.frame(spark, side.scan.table.name), side.scan)


@dataclass(frozen=True)
class DriverWork(ABC):
    """Work that needs the session: the driver starts a Spark job for it. It has one result."""

    @property
    @abstractmethod
    def side(self) -> Side: ...

    @abstractmethod
    def run_on(self, spark: SparkSession) -> Any: ...

    def run(self) -> Iterator[Any]:
        raise SparkFailure(f"{type(self).__name__} can't run on an executor")


@dataclass(frozen=True)
class DigestFrame(DriverWork):
    """The bucket digests of one side."""

    plan: TablePlan
    is_source: bool
    how: Reading | None = None

    @property
    def side(self) -> Side:
        return self.plan.source if self.is_source else self.plan.target

    def run_on(self, spark: SparkSession) -> BucketDigests:
        started = time.monotonic()
        plan, side = self.plan, self.side
        other = plan.target if self.is_source else plan.source
        if is_transformed(side):
            found = transformed_digests(spark, side, plan.buckets, self.how or Reading(1))
            return BucketDigests(sum(found.values(), EMPTY), pack_buckets(found), time.monotonic() - started)
        with _faults(side):
            if is_native_pair(plan):
                assert plan.hash is not None
                pair = (rows_of(spark, side), rows_of(spark, other))
                found = native_digests(pair, (side.scan, other.scan), plan.hash.seed, plan.buckets, both=False)[0]
            else:
                found = pulled_digests(rows_of(spark, side), side.scan, plan.buckets)
        total = sum(found.values(), EMPTY)
        return BucketDigests(total, pack_buckets(found), time.monotonic() - started)


def native_suspects(spark: SparkSession, run: TableRun) -> DataFrame:
    """The payloads of all rows that may differ in a table whose two sides Spark hashed itself."""
    plan, wanted = run.plan, frozenset(run.differing_buckets)
    assert plan.hash is not None
    found = (run.source_buckets, run.target_buckets)
    rows = max(sum(buckets[b].count for b in wanted if b in buckets) for buckets in found)
    frames = rows_of(spark, plan.source), rows_of(spark, plan.target)
    scans = plan.source.scan, plan.target.scan
    return suspect_rows(frames, scans, plan.hash.seed, (plan.buckets, wanted), bucket_count(rows))


@dataclass(frozen=True)
class CountFrame(DriverWork):
    counted: Side
    how: Reading

    @property
    def side(self) -> Side:
        return self.counted

    def run_on(self, spark: SparkSession) -> int:
        if is_transformed(self.side):
            return transformed_count(spark, self.side, self.how)
        with _faults(self.side):
            return rows_of(spark, self.side).count()


def count_work(side: Side, how: Reading) -> Work:
    return CountFrame(side, how) if side.is_frame else CountRange(side, EVERYTHING)


def run_mixed(spark: SparkSession, partitions: Sequence[Sequence[Work]]) -> list[list[Outcome]]:
    """`run_work`, with a Spark job of its own for each piece of work that needs the session, at the same time.

    But each job that reads a database may take all of its connections and its whole rate. So those of one database run
    one after another, and after the work of the executors, if that reads the same.
    """
    if not any(isinstance(piece, DriverWork) for partition in partitions for piece in partition):
        return run_work(spark, partitions)
    return interruptible(spark, lambda: _run_mixed(spark, partitions))


_Place = tuple[int, int]


def _run_mixed(spark: SparkSession, partitions: Sequence[Sequence[Work]]) -> list[list[Outcome]]:
    frames: list[_Place] = []
    queues: list[tuple[Reader, list[_Place]]] = []
    busy: list[Reader] = []
    for number, partition in enumerate(partitions):
        for place, piece in enumerate(partition):
            reader = _database(piece)
            if not isinstance(piece, DriverWork):
                busy += [] if reader is None or reader in busy else [reader]
            elif reader is None:
                frames.append((number, place))
            else:
                queue = next((queue for one, queue in queues if one == reader), None)
                if queue is None:
                    queues.append((reader, queue := []))
                queue.append((number, place))
    outcomes: dict[_Place, Outcome] = {}

    def in_turn(places: Sequence[_Place]) -> None:
        for number, place in places:
            outcomes[number, place] = _outcome(spark, partitions[number][place])

    run = inheritable_thread_target(spark)(in_turn)
    pool = ThreadPoolExecutor(_AT_ONCE)
    try:
        running = [pool.submit(run, queue) for reader, queue in queues if reader not in busy]
        running += [pool.submit(run, [place]) for place in frames]
        others = [[piece for piece in partition if not isinstance(piece, DriverWork)] for partition in partitions]
        done = [iter(found) for found in run_work(spark, others)]
        running += [pool.submit(run, queue) for reader, queue in queues if reader in busy]
        for each in running:
            each.result()
        return [
            [outcomes[n, place] if (n, place) in outcomes else next(done[n]) for place in range(len(partition))]
            for n, partition in enumerate(partitions)
        ]
    finally:
        # After Ctrl-C, do not wait for a job that Spark is cancelling.
        pool.shutdown(wait=False, cancel_futures=True)


def _database(piece: Work) -> Reader | None:
    """What reads the database of a piece of work; None: only a session can read its tables."""
    side: Side | None = getattr(piece, "side", None)
    if side is None or (side.is_frame and not is_transformed(side)):
        return None
    parts = parts_of(side)
    return parts[0].reader if parts else side.reader


def _outcome(spark: SparkSession, piece: Work) -> Outcome:
    assert isinstance(piece, DriverWork)
    try:
        return Outcome((piece.run_on(spark),))
    except TieoutError as error:
        return Outcome((), error)


def _faults(side: Side) -> AbstractContextManager[None]:
    assert isinstance(side.reader, FrameReader)
    return frame_errors(side.reader.place(side.scan.table.name))


Buckets = dict[int, Digest]

_WORDS = ("w0", "w1", "w2", "w3")
_SCHEMA = "bucket int, rows long, " + ", ".join(f"{word} long" for word in _WORDS)


def hashed_pair(rows: tuple[DataFrame, DataFrame], scans: tuple[Scan, Scan], seed: int) -> tuple[DataFrame, DataFrame]:
    """The rows of two frames with comparable hashes."""
    types = [[field.dataType for field in frame.schema.fields] for frame in rows]
    left = SparkHash(scans[0], types[1], seed).hashed(rows[0])
    return left, SparkHash(scans[1], types[0], seed).hashed(rows[1])


def native_digests(
    rows: tuple[DataFrame, DataFrame], scans: tuple[Scan, Scan], seed: int, buckets: int, *, both: bool = True
) -> tuple[Buckets, Buckets]:
    """The digests of both frames in one pass, or of the first frame only. The JVM hashes them."""
    left, right = (frame.withColumn("side", fn.lit(side)) for side, frame in enumerate(hashed_pair(rows, scans, seed)))
    names = ["side", "k0", "h0", "h1"]
    hashed = left.select(*names).unionAll(right.select(*names)) if both else left
    found: tuple[Buckets, Buckets] = {}, {}
    for side, bucket, count, *halves in bucket_sums(hashed, "side", buckets=buckets).collect():
        found[side][bucket] = digest_of(count, halves)
    return found


def pulled_digests(rows: DataFrame, scan: Scan, buckets: int) -> Buckets:
    """The digests of a frame in canonical form, comparable with a database's. Python workers hash it."""
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
    """The rows of wanted buckets as a frame of payloads."""
    return map_batches(wired(rows, send.scan), send.run, SCHEMA)


def suspect_rows(
    rows: tuple[DataFrame, DataFrame],
    scans: tuple[Scan, Scan],
    seed: int,
    native: tuple[int, frozenset[int]],
    buckets: int,
) -> DataFrame:
    """Payloads of the rows of two frames whose keys do not have the same rows on both sides.

    `native` is the number of buckets by Spark's hash, and which of them differ. The rows go into `buckets` by the
    canonical hash: equal keys may have different Spark hashes on the two sides.
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
