"""The tables that make a side whose rows Spark filters, computes or merges, as a task says: what is read of each, what
Spark gets of it, and what becomes of the values that Spark computed.

Loads no Spark: `--explain` and a preflight plan with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from tieout.canonical.decode import decode
from tieout.connectors.protocols.endpoint import Reader, Scan, ScanColumn
from tieout.connectors.spark_only_reader import SessionOnly
from tieout.errors import ReadError
from tieout.model.canonical_kinds import Form, Kind
from tieout.model.keys import KeyRange
from tieout.model.moves import Transfer
from tieout.model.tables import Column, TableName
from tieout.model.types import LogicalType, TypeName
from tieout.verification.plan import Side

if TYPE_CHECKING:
    from tieout.spark.frames.transforms import TransformedRows

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
    """The tables that make a side. `ranges` are the key ranges of each, by its number, once they are found."""

    parts: tuple[Part, ...]
    ranges: list[tuple[int, KeyRange]] = field(default_factory=list, compare=False, repr=False)

    def __reduce__(self) -> tuple[type[TransformedReader], tuple[tuple[Part, ...]]]:
        return TransformedReader, (self.parts,)  # tasks get ranges of their own

    def activity(self) -> str | None:
        # Tables of one side are on one server.
        return self.parts[0].reader.activity()


def is_transformed(side: Side) -> bool:
    return isinstance(side.reader, TransformedReader)


def parts_of(side: Side) -> tuple[Part, ...]:
    """The tables that make a side; none, if its rows are read as they are."""
    return side.reader.parts if isinstance(side.reader, TransformedReader) else ()


def can_look_up(side: Side) -> bool:
    """Whether rows of a side can be read again by their keys: all but those that only a session can read."""
    return is_transformed(side) or not side.is_frame


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
_TRUE, _FALSE = ("true", "t", "yes", "y", "on"), ("false", "f", "no", "n", "off")
_TRUTH = {**dict.fromkeys(_TRUE, "1"), **dict.fromkeys(_FALSE, "0")}
_NUMBERS = {TypeName.DECIMAL, TypeName.INTEGER}
_FRACTIONS = {TypeName.TIMESTAMP, TypeName.INSTANT}


def _held(texts: pa.Array, kind: Kind, t: LogicalType) -> pa.Array:
    """Computed values in tab form, as a column of this type holds them: a mover writes the text, and the target reads
    it. What it would refuse stays as it is, and differs from whatever is there.
    """
    if kind.form is Form.BYTES:
        # BINARY(n), unlike VARBINARY(n), has n bytes.
        size = (t.precision or 0) if t.native.startswith("binary") else 0
        octets = [None if v is None else _octets(v).ljust(size, b"\0") for v in texts.to_pylist()]
        return pa.array(octets, pa.large_binary())
    holds = _holding(t)
    if holds is None:
        return texts
    return pa.array([None if v is None else holds(v) for v in texts.to_pylist()], pa.large_string())


def _octets(text: str) -> bytes:
    try:
        return bytes.fromhex(text[2:]) if text.startswith("\\x") else text.encode()
    except ValueError:
        return text.encode()


def _holding(t: LogicalType) -> Callable[[str], str] | None:
    if t.name is TypeName.BOOLEAN:
        return lambda text: _TRUTH.get(text.strip().lower(), text)
    if t.name is TypeName.CHAR:
        return lambda text: text.rstrip(" ")
    if t.name is TypeName.ENUM and t.native.startswith("enum("):
        # MariaDB and MySQL find a label by their collation; PostgreSQL refuses one in other letters.
        labels = {label.casefold(): label for label in t.values}
        return lambda text: text if text in t.values else labels.get(text.casefold(), text)
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
