"""Sides of a table whose rows Spark filters, computes or merges, as a task says: read on executors in key ranges by the
endpoint's own reader, then projected as a mover does it (spark.frames.transforms), in the same Spark task.

Columns that no expression names travel past Spark, as the reader sent them: they stay exact. Nothing of a table is kept
in memory but the batch that is being worked on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from tieout.canonical.bucket_digests import add_buckets
from tieout.canonical.decode import decode
from tieout.canonical.fingerprint import fingerprints
from tieout.connectors.protocols.endpoint import NeedsCautiousReader, Reader, Scan, ScanColumn
from tieout.connectors.spark_only_reader import SessionOnly
from tieout.errors import ReadError, SparkFailure, TieoutError
from tieout.model.canonical_kinds import Form, Kind
from tieout.model.defaults import COPY_CHUNK_ROWS
from tieout.model.digests import Digest
from tieout.model.keys import EVERYTHING, Key, KeyRange, ranges_between
from tieout.model.moves import Transfer
from tieout.model.tables import Column, TableName
from tieout.model.types import LogicalType, TypeName
from tieout.rate_limit import RateLimit
from tieout.runtime.dispatch import deal, slots
from tieout.runtime.ranges import sampled_bounds
from tieout.spark.executor_work import SCHEMA, Cells, Outcome, Work, map_batches, run_work, work_frame
from tieout.spark.frames.transforms import TransformedRows, result_batch, transformed, transformed_items
from tieout.verification.bucket_rows import Sent, loose_rows
from tieout.verification.plan import Side
from tieout.verification.rows import fields_of, look_up_batches
from tieout.verification.work import WalkKeys, bucket_digests

_MOST_BOUNDS = 100_000

NOT_NAMED = frozenset({TypeName.OPAQUE, TypeName.UNKNOWN, TypeName.ARRAY})
"""Types whose text depends on where a mover takes it: an expression that names one is not verified."""

COMPUTABLE = frozenset(TypeName) - {
    TypeName.OPAQUE,
    TypeName.UNKNOWN,
    TypeName.ARRAY,
    TypeName.INTERVAL,
    TypeName.TIMETZ,
    TypeName.BITS,
}
"""Types of columns whose computed values have one canonical form."""


@dataclass(frozen=True)
class Part:
    """One table of a side. `scan` reads the compared columns that are not computed, and then those that expressions
    name; its `key` is what the side's key has of them.

    `columns` has for each compared column its place in the scan, or ~n for the n-th computed value. Parts with the same
    `projection` share a Spark expression, whatever their tables are called. `holders` are the target's columns that
    hold computed values: a value is compared as they hold it.
    """

    reader: Reader
    scan: Scan
    transfer: Transfer
    columns: tuple[int, ...]
    kinds: tuple[Kind, ...]
    holders: tuple[Column, ...]
    reads: tuple[int, ...]
    projection: int = 0

    @property
    def name(self) -> TableName:
        return self.scan.table.name

    def cells(self, batch: pa.RecordBatch) -> list[pa.Array]:
        """What Spark needs of a batch: the values that expressions name, in tab form, and the table's name."""
        texts = []
        for place in self.reads:
            column = self.scan.columns[place].column
            try:
                texts.append(_tab_text(column.type, batch.column(place)))
            except (UnicodeDecodeError, pa.ArrowInvalid):
                raise ReadError(
                    f"{self.name}: {column.name} has a text that is not UTF-8, and an expression names it",
                    "correct the text, or compare the table without the expression",
                ) from None
        rows = batch.num_rows
        return [*texts, *(pa.repeat(pa.scalar(text, pa.string()), rows) for text in (self.name.schema, self.name.name))]

    def assembled(self, batch: pa.RecordBatch, rows: Sequence[TransformedRows]) -> pa.RecordBatch:
        """The rows of a batch that pass, with the compared columns."""
        columns = [pa.chunked_array(parts).combine_chunks() for parts in zip(*(r.columns for r in rows), strict=True)]
        passes, *texts = columns
        mask = pc.equal(passes, "true")
        arrays = []
        for place, kind in zip(self.columns, self.kinds, strict=True):
            if place >= 0:
                arrays.append(batch.column(place).filter(mask))
            else:
                arrays.append(_held(texts[~place].filter(mask), kind, self.holders[~place].type))
        return pa.RecordBatch.from_arrays(arrays, names=[f"c{place}" for place in range(len(arrays))])


@dataclass(frozen=True)
class TransformedReader(SessionOnly):
    """The tables that make a side. `ranges` are their key ranges, found once."""

    parts: tuple[Part, ...]
    ranges: list[tuple[int, KeyRange]] = field(default_factory=list, compare=False, repr=False)

    def activity(self) -> str | None:
        # Tables of one side are on one server.
        return self.parts[0].reader.activity()

    def divided(self, spark: SparkSession, rows: int | None) -> list[tuple[int, KeyRange]]:
        """The key ranges of each part, by its number. Finding them again would cost as much, and give others."""
        if not self.ranges:
            self.ranges.extend(_divided(spark, self.parts, rows or COPY_CHUNK_ROWS))
        return self.ranges


def is_transformed(side: Side) -> bool:
    return isinstance(side.reader, TransformedReader)


def parts_of(side: Side) -> tuple[Part, ...]:
    """The tables that make a side; none, if its rows are read as they are."""
    return side.reader.parts if isinstance(side.reader, TransformedReader) else ()


def can_look_up(side: Side) -> bool:
    """Whether rows of a side can be read again by their keys: all but those that only a session can read."""
    return is_transformed(side) or not side.is_frame


def _divided(spark: SparkSession, parts: Sequence[Part], rows: int) -> Iterator[tuple[int, KeyRange]]:
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
    hands = deal(list(walks.items()), slots(spark))
    for hand, outcomes in zip(hands, run_work(spark, [[walk for _, walk in hand] for hand in hands]), strict=True):
        for (number, _), outcome in zip(hand, outcomes, strict=True):
            yield from ((number, keys) for keys in ranges_between(outcome.only()))


_READ_AS = {
    TypeName.FLOAT32: Form.FLOAT32,
    TypeName.FLOAT64: Form.FLOAT64,
    TypeName.BINARY: Form.BYTES,
    TypeName.DATE: Form.DATE,
    TypeName.TIME: Form.TIME,
    TypeName.TIMESTAMP: Form.TIMESTAMP,
    TypeName.INSTANT: Form.TIMESTAMP,
    TypeName.UUID: Form.UUID,
    TypeName.BITS: Form.BITS,
}


def named_column(column: Column) -> ScanColumn:
    """How to read a column that an expression names: with the text that the engine itself writes, where it has one."""
    return ScanColumn(column, Kind(_READ_AS.get(column.type.name, Form.TEXT)))


def _tab_text(t: LogicalType, array: pa.Array) -> pa.Array:
    """The values of a column as a reader sends them, in tab form. UnicodeDecodeError, ArrowInvalid: not text."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if t.name is TypeName.BOOLEAN and pa.types.is_boolean(array.type):
        return pc.if_else(array, "1", "0").cast(pa.string())
    form = _READ_AS.get(t.name)
    if form is None:
        return array.cast(pa.string())
    shown = decode(Kind(form), array)
    texts = [shown.text(row) for row in range(len(shown))]
    if form is Form.BYTES:
        texts = [None if text is None else "\\" + text[1:] for text in texts]
    return pa.array(texts, pa.string())


_EXACT = Context(prec=1000)
_MOMENT = re.compile(r"(-?\d{4,}-\d\d-\d\d) \d\d:.*", re.ASCII | re.DOTALL)
_TRUTH = {"true": "1", "t": "1", "false": "0", "f": "0"}
_NUMBERS = {TypeName.DECIMAL, TypeName.INTEGER}
_FRACTIONS = {TypeName.TIMESTAMP, TypeName.INSTANT, TypeName.TIME}


def _held(texts: pa.Array, kind: Kind, t: LogicalType) -> pa.Array:
    """Computed values in tab form, as a column of this type holds them: a mover writes the text, and the target reads
    it. What it would refuse stays as it is, and differs from whatever is there.
    """
    if kind.form is Form.BYTES:
        return pa.array([None if v is None else bytes.fromhex(v[2:]) for v in texts.to_pylist()], pa.large_binary())
    holds = _holding(t)
    if holds is None:
        return texts
    return pa.array([None if v is None else holds(v) for v in texts.to_pylist()], pa.large_string())


def _holding(t: LogicalType) -> Callable[[str], str] | None:
    if t.name is TypeName.BOOLEAN:
        return lambda text: _TRUTH.get(text, text)
    if t.name is TypeName.CHAR:
        return lambda text: text.rstrip(" ")
    if t.name is TypeName.DATE:
        return lambda text: match[1] if (match := _MOMENT.fullmatch(text)) else text
    if t.name in _NUMBERS:
        scale = 0 if t.name is TypeName.INTEGER else t.scale
        return None if scale is None or (t.name is TypeName.DECIMAL and t.precision is None) else _rounded_to(scale)
    if t.name in _FRACTIONS and t.precision is not None and t.precision < 6:
        return _moments_of(t.precision)
    return None


def _rounded_to(scale: int) -> Callable[[str], str]:
    """Half away from zero, as engines round a decimal."""
    unit = Decimal(1).scaleb(-scale)

    def rounded(text: str) -> str:
        _, point, digits = text.partition(".")
        if (not point or len(digits) <= scale) and "E" not in text and "e" not in text:
            return text
        try:
            number = Decimal(text)
            return format(number.quantize(unit, ROUND_HALF_UP, _EXACT), "f") if number.is_finite() else text
        except InvalidOperation:
            return text

    return rounded


def _moments_of(digits: int) -> Callable[[str], str]:
    import numpy as np

    from tieout.canonical.temporal import timestamp

    step = 10 ** (6 - digits)

    def rounded(text: str) -> str:
        _, _, fraction = text.partition(".")
        if len(fraction) <= digits:
            return text
        found = timestamp(Kind(Form.TIMESTAMP), pa.array([text], pa.large_string()))
        if found.odd or found.data is None:
            return text
        micros = int(found.data[0])
        return str(np.datetime64((micros + step // 2) // step * step, "us")).replace("T", " ")

    return rounded


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
    return map_batches(transformed(frame, transfers, named=True), consume, SCHEMA)


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
                yield work, self.parts[waiting.part].assembled(waiting.batch, found)
                waiting = None


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


def _outcomes(spark: SparkSession, side: Side, chunk_rows: int | None, rate: float | None, buckets: int | None) -> Any:
    reader = side.reader
    assert isinstance(reader, TransformedReader)
    parts = reader.parts
    pace = None if rate is None else rate / slots(spark)
    work: list[Work] = [
        ReadPart(parts[number], number, keys, rows_per_second=pace)
        for number, keys in reader.divided(spark, chunk_rows)
    ]
    consume = _DigestParts(parts, side.scan, buckets)
    hands = deal(work, slots(spark))
    done = run_work(spark, hands, cells=_cells(parts), then=lambda frame: _projected(frame, parts, consume.run))
    for outcomes in done:
        for outcome in outcomes:
            yield _whole(outcome)


def _whole(outcome: Outcome) -> Any:
    if outcome.error is None and len(outcome.results) != 1:
        raise SparkFailure("Spark lost the end of a key range", "verify again")
    return outcome.only()


def transformed_digests(
    spark: SparkSession, side: Side, buckets: int, chunk_rows: int | None = None, rate: float | None = None
) -> dict[int, Digest]:
    """The bucket digests of a side, in canonical form. `rate`: rows per second, of all tasks together."""
    total: dict[int, Digest] = {}
    for found in _outcomes(spark, side, chunk_rows, rate, buckets):
        add_buckets(total, found)
    return total


def transformed_count(spark: SparkSession, side: Side) -> int:
    return sum(_outcomes(spark, side, None, None, None))


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
    spark: SparkSession, side: Side, is_source: bool, buckets: tuple[int, frozenset[int]], chunk_rows: int | None
) -> DataFrame:
    """The rows of wanted buckets as a frame of payloads; `buckets` is how many there are, and which are wanted."""
    reader = side.reader
    assert isinstance(reader, TransformedReader)
    parts = reader.parts
    work: list[Work] = [ReadPart(parts[number], number, keys) for number, keys in reader.divided(spark, chunk_rows)]
    consume = _SendParts(parts, side.scan, is_source, *buckets)
    return _projected(work_frame(spark, deal(work, slots(spark)), _cells(parts)), parts, consume.run)


def looked_up_rows(
    spark: SparkSession, side: Side, is_source: bool, buckets: int, keys: Mapping[bytes, Key]
) -> DataFrame:
    """The rows with these keys, by the hashes of the keys, as a frame of payloads."""
    parts = parts_of(side)
    work: list[Work] = []
    for number, part in enumerate(parts):
        # What a part has of the key; computed columns of it are known once Spark has computed them.
        places = [place for place, column in enumerate(side.scan.key) if part.columns[column] >= 0]
        asked = list(dict.fromkeys(tuple(key[place] for place in places) for key in keys.values()))
        if not places:
            work.append(ReadPart(part, number))
        else:
            hands = [asked] if not part.reader.finds(part.scan) else deal(asked, slots(spark))
            work += [ReadPart(part, number, asked=tuple(hand)) for hand in hands]
    consume = _SendParts(parts, side.scan, is_source, buckets, None, frozenset(keys))
    return _projected(work_frame(spark, deal(work, slots(spark)), _cells(parts)), parts, consume.run)
