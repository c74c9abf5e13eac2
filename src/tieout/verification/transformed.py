"""Sides of a table whose rows Spark filters, computes or merges, as a task says: read on executors in key ranges by the
endpoint's own reader, then projected as a mover does it (spark.frames.transforms), in the same Spark task.

Columns that no expression names travel past Spark, as the reader sent them: they stay exact. Nothing of a table is kept
in memory but the batch that is being worked on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tieout.canonical.bucket_digests import add_buckets
from tieout.canonical.fingerprint import fingerprints
from tieout.connectors.protocols.endpoint import NeedsCautiousReader, Reader, Scan
from tieout.errors import SparkFailure, TieoutError
from tieout.model.defaults import COPY_CHUNK_ROWS
from tieout.model.digests import Digest
from tieout.model.keys import EVERYTHING, Key, KeyRange, ranges_between
from tieout.rate_limit import RateLimit
from tieout.runtime.dispatch import deal
from tieout.runtime.ranges import sampled_bounds
from tieout.spark.executor_work import SCHEMA, Cells, Outcome, Work, map_batches, run_work, work_frame
from tieout.spark.frames.transforms import TransformedRows, result_batch, transformed, transformed_items
from tieout.verification.bucket_rows import Sent, loose_rows
from tieout.verification.parts import Part, TransformedReader, parts_of
from tieout.verification.plan import Side
from tieout.verification.rows import fields_of, look_up_batches
from tieout.verification.work import WalkKeys, bucket_digests

_MOST_BOUNDS = 100_000


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read a side: `tasks` at once, in ranges of `chunk_rows` rows, `rate` rows per second of all tasks
    together.
    """

    tasks: int
    chunk_rows: int | None = None
    rate: float | None = None

    @property
    def rate_of_a_task(self) -> float | None:
        return None if self.rate is None else self.rate / self.tasks


def _ranges(spark: SparkSession, reader: TransformedReader, how: Reading) -> list[tuple[int, KeyRange]]:
    """The key ranges of each part, by its number. Finding them again would cost as much, and give others."""
    if not reader.ranges:
        found = list(_divided(spark, reader.parts, how))  # all, or none: a part of them would pass for the table
        reader.ranges.extend(found)
    return reader.ranges


def _divided(spark: SparkSession, parts: Sequence[Part], how: Reading) -> Iterator[tuple[int, KeyRange]]:
    rows = how.chunk_rows or COPY_CHUNK_ROWS
    walks: dict[int, WalkKeys] = {}
    for number, part in enumerate(parts):
        table, scan = part.scan.table, part.scan
        few = table.estimated_rows is not None and table.estimated_rows * 2 < rows
        if not scan.ordered_by or few:
            yield number, EVERYTHING
        elif (
            table.estimated_rows
            and tuple(column.name for column in scan.order_columns) == table.key
            and table.estimated_rows <= rows * (len(table.sampled_keys) - 1)
        ):
            bounds = sampled_bounds(table.sampled_keys, table.estimated_rows, rows)
            yield from ((number, keys) for keys in ranges_between(bounds))
        else:
            walks[number] = WalkKeys(Side(part.reader, scan), EVERYTHING, rows, _MOST_BOUNDS)
    hands = deal(list(walks.items()), how.tasks)
    for hand, outcomes in zip(hands, run_work(spark, [[walk for _, walk in hand] for hand in hands]), strict=True):
        for (number, _), outcome in zip(hand, outcomes, strict=True):
            yield from ((number, keys) for keys in ranges_between(outcome.only()))


@dataclass(frozen=True, slots=True)
class _Batch:
    """A batch on its way past Spark. Its rows follow as Cells, in order, in the same task."""

    part: int
    batch: pa.RecordBatch


@dataclass(frozen=True, slots=True)
class _Again:
    """What the piece has sent so far does not count: its driver gave up, and it starts again with a cautious one."""


@dataclass(frozen=True, slots=True)
class _Ends:
    """The end of a piece: without it, rows are missing."""


@dataclass(frozen=True)
class ReadPart:
    """A piece of work: reads a key range of a part, or the rows with some keys of it, for Spark to project."""

    part: Part
    number: int
    keys: KeyRange = EVERYTHING
    asked: tuple[Key, ...] | None = None
    rows_per_second: float | None = None

    def run(self) -> Iterator[_Batch | Cells | _Again | _Ends]:
        reader, limit, rows = self.part.reader, RateLimit(self.rows_per_second), 0
        while True:
            try:
                for batch in self._batches(reader):
                    if batch.num_rows:
                        yield _Batch(self.number, batch)
                        yield Cells(self.part.projection, self.part.cells(batch))
                    rows += batch.num_rows
                    limit.reached(rows)
            except NeedsCautiousReader:
                reader = reader.cautious()
                yield _Again()
            else:
                yield _Ends()
                return

    def _batches(self, reader: Reader) -> Iterator[pa.RecordBatch]:
        if self.asked is None:
            return reader.read(self.part.scan, self.keys)
        return look_up_batches(reader, self.part.scan, self.asked)


Consumer = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def _projected(frame: DataFrame, parts: Sequence[Part], consume: Consumer) -> DataFrame:
    transfers = {part.projection: part.transfer for part in parts}
    classed = parts[0].holder is not None
    return map_batches(transformed(frame, transfers, named=True, classed=classed), consume, SCHEMA)


def _cells(parts: Sequence[Part]) -> int:
    return max(len(part.reads) for part in parts) + 2


@dataclass(frozen=True)
class _Consumer:
    """A function that Spark calls with the projected batches of a task, with the pieces one after another."""

    parts: tuple[Part, ...]

    def _assembled(self, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, Any]]:
        """For each piece, by its number: batches of the compared columns; _Again, _Ends, or the error that ended it."""
        waiting: _Batch | None = None
        found: list[TransformedRows] = []
        for work, item in transformed_items(batches):
            if isinstance(item, _Batch):
                waiting, found = item, []
                continue
            if not isinstance(item, TransformedRows):
                yield work, item
                continue
            if waiting is None:
                raise SparkFailure("Spark returned rows in another order", "please report this bug")
            found.append(item)
            missing = waiting.batch.num_rows - sum(map(len, found))
            if missing < 0:
                raise SparkFailure("Spark returned rows in another order", "please report this bug")
            if missing == 0:
                yield work, self._rows(waiting, found)
                waiting = None

    def _rows(self, read: _Batch, found: Sequence[TransformedRows]) -> pa.RecordBatch | TieoutError:
        try:
            return self.parts[read.part].assembled(read.batch, found)
        except TieoutError as error:
            return error


@dataclass(frozen=True)
class _DigestParts(_Consumer):
    """The bucket digests of each piece as its result; `buckets` None: the number of its rows."""

    scan: Scan
    buckets: int | None

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        total: dict[int, Digest] = {}
        rows = 0
        for work, item in self._assembled(batches):
            if isinstance(item, pa.RecordBatch):
                rows += item.num_rows
                if self.buckets is not None:
                    add_buckets(total, bucket_digests(fields_of(self.scan, item), self.scan.key, self.buckets))
                continue
            if isinstance(item, _Ends):
                yield result_batch(work, rows if self.buckets is None else total)
            elif isinstance(item, TieoutError):
                yield result_batch(work, item)
            total, rows = {}, 0


def _outcomes(spark: SparkSession, side: Side, how: Reading, buckets: int | None) -> Iterator[Any]:
    reader = side.reader
    assert isinstance(reader, TransformedReader)
    parts = reader.parts
    work: list[Work] = [
        ReadPart(parts[number], number, keys, rows_per_second=how.rate_of_a_task)
        for number, keys in _ranges(spark, reader, how)
    ]
    consume = _DigestParts(parts, side.scan, buckets)
    hands = deal(work, how.tasks)
    done = run_work(spark, hands, cells=_cells(parts), then=lambda frame: _projected(frame, parts, consume.run))
    for outcomes in done:
        for outcome in outcomes:
            yield _whole(outcome)


def _whole(outcome: Outcome) -> Any:
    if outcome.error is None and len(outcome.results) != 1:
        raise SparkFailure("Spark lost the end of a key range", "verify again")
    return outcome.only()


def transformed_digests(spark: SparkSession, side: Side, buckets: int, how: Reading) -> dict[int, Digest]:
    """The bucket digests of a side, in canonical form."""
    total: dict[int, Digest] = {}
    for found in _outcomes(spark, side, how, buckets):
        add_buckets(total, found)
    return total


def transformed_count(spark: SparkSession, side: Side, how: Reading) -> int:
    return sum(_outcomes(spark, side, how, None))


@dataclass(frozen=True)
class _SendParts(_Consumer):
    """The rows of wanted buckets, or those with wanted keys, as payloads by bucket; errors as they are."""

    scan: Scan
    is_source: bool
    buckets: int
    wanted: frozenset[int] | None
    hashes: frozenset[bytes] | None = None

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        wanted = frozenset(range(self.buckets)) if self.wanted is None else self.wanted
        attempts: dict[int, int] = {}
        for work, item in self._assembled(batches):
            attempt = attempts.get(work, 0)
            if isinstance(item, pa.RecordBatch):
                sent = sent_rows(item, self.scan, self.is_source, self.buckets, wanted, self.hashes)
                for bucket, rows in sent.items():
                    yield result_batch(work, Sent(self.is_source, work, attempt, tuple(rows)), bucket)
            elif isinstance(item, _Again):
                attempts[work] = attempt + 1
                for bucket in wanted:
                    yield result_batch(work, Sent(self.is_source, work, attempt + 1), bucket)
            elif isinstance(item, TieoutError):
                yield result_batch(work, item)


def sent_rows(
    batch: pa.RecordBatch,
    scan: Scan,
    is_source: bool,
    buckets: int,
    wanted: frozenset[int],
    hashes: Set[bytes] | None = None,
) -> Mapping[int, Sequence[Any]]:
    """The rows of a batch that are wanted, by bucket."""
    fields = fields_of(scan, batch)
    if hashes is not None:
        keys = [each.tobytes() in hashes for each in fingerprints([fields[place] for place in scan.key])]
        batch = batch.filter(pa.array(keys, pa.bool_()))
        fields = fields_of(scan, batch)
    return loose_rows(fields, scan, is_source, buckets, wanted)


def transformed_rows(
    spark: SparkSession, side: Side, is_source: bool, buckets: tuple[int, frozenset[int]], how: Reading
) -> DataFrame:
    """The rows of wanted buckets as a frame of payloads; `buckets` is how many there are, and which are wanted."""
    reader = side.reader
    assert isinstance(reader, TransformedReader)
    parts = reader.parts
    work: list[Work] = [ReadPart(parts[number], number, keys) for number, keys in _ranges(spark, reader, how)]
    consume = _SendParts(parts, side.scan, is_source, *buckets)
    return _projected(work_frame(spark, deal(work, how.tasks), _cells(parts)), parts, consume.run)


def looked_up_rows(
    spark: SparkSession, side: Side, is_source: bool, buckets: int, keys: Mapping[bytes, Key], tasks: int
) -> DataFrame:
    """The rows with these keys, by the hashes of the keys, as a frame of payloads."""
    parts = parts_of(side)
    work: list[Work] = []
    for number, part in enumerate(parts):
        # What a part has of the key; computed columns of it are known once Spark has computed them.
        places = [place for place, column in enumerate(side.scan.key) if part.columns[column] >= 0]
        asked = list(dict.fromkeys(tuple(key[place] for place in places) for key in keys.values()))
        # Keys that a tolerance makes equal have other texts: their hashes tell, once the rows have passed Spark.
        if not places or any(column.kind.tolerance is not None for column in part.scan.key_columns):
            work.append(ReadPart(part, number))
        else:
            hands = [asked] if not part.reader.finds(part.scan) else deal(asked, tasks)
            work += [ReadPart(part, number, asked=tuple(hand)) for hand in hands]
    consume = _SendParts(parts, side.scan, is_source, buckets, None, frozenset(keys))
    return _projected(work_frame(spark, deal(work, tasks), _cells(parts)), parts, consume.run)
