"""The tables that make a side whose rows Spark filters, computes or merges, as a task says: what is read of each, what
Spark gets of it, and what becomes of the values that Spark computed.

Loads no Spark: `--explain` and a preflight plan with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from tieout.connectors.protocols.endpoint import Reader, Scan, ScanColumn
from tieout.connectors.spark_only_reader import SessionOnly
from tieout.errors import ReadError
from tieout.model.canonical_kinds import Kind
from tieout.model.keys import KeyRange
from tieout.model.moves import Transfer
from tieout.model.tables import Column, TableName
from tieout.verification.holding import held
from tieout.verification.labels import UndecidedLabel
from tieout.verification.named_columns import tab_text
from tieout.verification.plan import Side

if TYPE_CHECKING:
    from tieout.spark.frames.transforms import TransformedRows


@dataclass(frozen=True)
class Part:
    """One table of a side. `scan` reads the compared columns that are not computed, and then those that expressions
    name; its `key` is what the side's key has of them.

    `columns` has for each compared column its place in the scan, or ~n for the n-th computed value. Parts with the same
    `projection` share a Spark expression, whatever their tables are called. `holders` are the target's columns that
    hold computed values: a value is compared as they hold it. `holder` reads the target if values of both sides have
    classes of their own (`Capabilities.classed`): then a mover's tab form has them, and so do Spark's texts here.
    """

    reader: Reader
    scan: Scan
    transfer: Transfer
    columns: tuple[int, ...]
    kinds: tuple[Kind, ...]
    holders: tuple[Column, ...]
    reads: tuple[int, ...]
    projection: int = 0
    holder: Reader | None = None

    @property
    def name(self) -> TableName:
        return self.scan.table.name

    def cells(self, batch: pa.RecordBatch) -> list[pa.Array]:
        """What Spark needs of a batch: the values that expressions name, in tab form, and the table's name."""
        texts = []
        for place in self.reads:
            column = self.scan.columns[place].column
            try:
                texts.append(tab_text(self.scan.columns[place], batch.column(place)))
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
                arrays.append(self._held(texts[~place].filter(mask), ScanColumn(self.holders[~place], kind)))
        return pa.RecordBatch.from_arrays(arrays, names=[f"c{place}" for place in range(len(arrays))])

    def _held(self, texts: pa.Array, column: ScanColumn) -> pa.Array:
        if self.holder is not None:
            return self.holder.stored(column, texts)
        try:
            return held(texts, column.kind, column.column)
        except UndecidedLabel:
            raise ReadError(
                f"{self.name}: a text that is computed for {column.name} is none of its labels letter by letter, and"
                " only the target's collation knows whether it is equal to one",
                "compute a label as the column defines it",
            ) from None


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
