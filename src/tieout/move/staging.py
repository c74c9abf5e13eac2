"""Compacts the changes of one table and stages them: on an executor, from the log's reader straight to the writer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from typing import Any

import pyarrow as pa

from tieout.connectors.protocols.move import ChunkSource, Loader, StagedChanges, StageTable, TextOf
from tieout.connectors.sql import copy_text
from tieout.errors import UnsupportedError
from tieout.model.row_changes import KEPT, Begin, Image, LogTable, Rows
from tieout.move.compaction import Compacted, CopiedChanges, KeyedChanges
from tieout.move.schema_changes import ColumnsChanged
from tieout.move.snapshot_overlap import SnapshotOverlap
from tieout.spark.executor_work import Cells

PIECE_ROWS, PIECE_BYTES = 200_000, 64 << 20
"""As many keys are held in memory, and about as many bytes; more are staged in several pieces."""
_LOOKED_AT = 8
MOST_HASHES = 5 * PIECE_ROWS


class Behind:
    """Runs one call at a time behind the caller, who goes on meanwhile; before a second one, the first is waited for.

    So what waits to be written is one piece, of whatever table.
    """

    def __init__(self, pool: Executor) -> None:
        self._pool = pool
        self._last: Future[Any] | None = None

    def submit(self, call: Callable[..., int], *arguments: Any) -> Future[int]:
        if self._last is not None:
            self._last.exception()  # waits for it; whose error it is will ask
        self._last = submitted = self._pool.submit(call, *arguments)
        return submitted


@dataclass(frozen=True)
class Staging:
    """How the changes of one table are staged, and which of them its chunks hold."""

    stage: StageTable
    overlap: SnapshotOverlap

    def of_attempt(self, attempt: str) -> Staging:
        return Staging(self.stage.of_attempt(attempt), self.overlap)


@dataclass
class Stager:
    """Compacts the changes of one table and stages them, in pieces if they are many.

    What there is work for on the way is handed on to Spark instead, under the stager's number.
    """

    staging: Staging
    number: int
    source: ChunkSource
    behind: Behind
    loader: Loader
    alike: bool
    seen: int = 0
    _staged: int = 0
    _writing: Future[int] | None = None
    _bytes: int = 0
    _pieces: int = 0
    _existing: int = 0
    _before: set[int] | None = field(default_factory=set)
    _overlap: bool = False
    _settled: bool = True
    _emptied: bool = False
    _kept: set[int] = field(default_factory=set)
    _shapes: dict[int, tuple[LogTable, Any]] = field(default_factory=dict)
    _outbox: list[Cells] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._reads = transfer = self.staging.stage.transfer.reads
        self._texts: Sequence[TextOf] = self.source.texts(transfer, alike=self.alike)
        self._changes: KeyedChanges | CopiedChanges = (
            KeyedChanges(transfer.source.name, len(transfer.columns), transfer.key)
            if transfer.key
            else CopiedChanges(transfer.source.name)
        )

    def add(self, changes: Rows, transaction: Begin) -> None:
        self.seen += len(changes.rows)
        overlap = self.staging.overlap
        if transaction.late and overlap.concerns(transaction):
            # The log has an XA COMMIT before its changes can be seen: a snapshot from in between lacks them.
            raise UnsupportedError(
                f"{changes.table.name} was changed by XA transaction {transaction.transaction} while it was copied",
                "drop the task and begin anew while no XA transaction changes the table",
            )
        self._settled = self._settled and overlap.are_settled(transaction)
        try:
            changes = self._shaped(changes)
        except ColumnsChanged as changed:
            if overlap.may_be_later_than(transaction):
                # Its chunks were read without the column: values that it had by then are in none of them.
                raise UnsupportedError(
                    f"{changed.reason} while it was copied", "drop the task and begin anew"
                ) from None
            raise
        if overlap.concerns(transaction):
            for part in overlap.rest(changes, transaction, self._key_of, self._chunks_of):
                self._changes.add(part)
        else:
            self._changes.add(changes)
        self._bytes += _size(changes.rows)
        if len(self._changes) >= PIECE_ROWS or self._bytes >= PIECE_BYTES:
            self._flush()

    def handed_on(self) -> Iterator[Cells]:
        """What is to be worked on, once."""
        while self._outbox:
            yield self._outbox.pop(0)

    def empty(self, transaction: Begin) -> None:
        """A table that was truncated while it was copied has chunks from before and from after."""
        shape = self.staging.stage.transfer.shape
        if shape is not None and shape.shared:
            name = self.staging.stage.transfer.target.name
            raise UnsupportedError(
                f"{self._reads.source.name} was truncated, and {name} holds rows of others",
                "delete its rows there, and begin anew",
            )
        if self.staging.overlap.concerns(transaction):
            raise UnsupportedError(
                f"{self.staging.stage.transfer.source.name} was truncated while it was copied",
                "drop the task and begin anew",
            )
        self._changes.clear()
        self._emptied, self._existing = True, 0
        if self._pieces:
            raise UnsupportedError(f"{self.staging.stage.transfer.source.name} was truncated in a large transaction")

    def finish(self) -> StagedChanges | None:
        if len(self._changes):
            self._flush()
        self._wait_for_writing()
        if not self._staged and not self._emptied:
            return None
        # Of rows that a filter holds back nobody knows whether they were there.
        filtered = (shape := self.staging.stage.transfer.shape) is not None and shape.where is not None
        # A key that several pieces have was counted in each of them.
        existing = self._existing if self._settled and not filtered and not self._overlap else None
        return StagedChanges(
            self.staging.stage, self._staged, existing, self._overlap, frozenset(self._kept), self._emptied
        )

    def _shaped(self, changes: Rows) -> Rows:
        """The images with the transfer's columns, in its order."""
        known = self._shapes.get(id(changes.table))
        if known is None:
            # The table is kept with its shape: no other one may get its id.
            known = self._shapes[id(changes.table)] = changes.table, self._shape(changes.table)
        shape = known[1]
        if shape is None:
            return changes
        before = changes.before and [None if row is None else shape(row) for row in changes.before]
        return replace(changes, rows=[shape(row) for row in changes.rows], before=before)

    def _shape(self, table: LogTable) -> Any:
        transfer = self._reads
        names = tuple(column.name for column in transfer.source_columns)
        if table.columns == names:
            return None
        missing = sorted(set(names) - set(table.columns))
        if missing:
            raise ColumnsChanged(f"{table.name} has no column {missing[0]} any more", table.columns)
        added = [name for name in table.columns if name not in transfer.source.column_names]
        if added:
            raise ColumnsChanged(f"{table.name} got a column {added[0]}", table.columns)
        places = [table.columns.index(name) for name in names]
        pick = itemgetter(*places)
        return pick if len(places) > 1 else lambda row: (pick(row),)

    def _key_of(self, row: Image) -> object:
        return row[self._reads.key[0]]

    def _chunks_of(self, rows: Sequence[Image]) -> list[int]:
        transfer = self._reads
        keys = list(
            zip(*(self._texts[place]([row[place] for row in rows]).to_pylist() for place in transfer.key), strict=True)
        )
        return self.source.chunks_of(transfer, self.staging.overlap.bounds, keys)

    def _flush(self) -> None:
        self._bytes = 0
        if isinstance(self._changes, KeyedChanges):
            self._note_overlap(set(map(hash, self._changes.keys())))
        else:
            # Rows that differ may become the same on their way.
            self._overlap = self._pieces > 0 or self.staging.stage.transfer.shape is not None
        compacted, existing = self._changes.take()
        self._existing += existing
        if not compacted.images:
            return
        columns = self._columns(compacted)
        if self.staging.stage.transfer.shape is None:
            self._wait_for_writing()
            write = partial(self.loader.stage, new=self._pieces == 0)
            self._writing = self.behind.submit(write, self.staging.stage, [copy_text.lines(columns)])
        else:
            self._staged += len(columns[0])
            self._outbox.append(Cells(self.number, columns))
        self._pieces += 1

    def _wait_for_writing(self) -> None:
        if self._writing is not None:
            self._staged += self._writing.result()
            self._writing = None

    def _note_overlap(self, hashes: set[int]) -> None:
        """Whether an earlier piece may have one of these keys; of too many pieces that is not remembered."""
        self._overlap = self._overlap or self._before is None or not self._before.isdisjoint(hashes)
        if self._before is not None and len(self._before) < MOST_HASHES:
            self._before |= hashes
        else:
            self._before = None

    def _written(self, place: int) -> int:
        """Where the target has what is read in a place, of a value that the log left out."""
        shape = self.staging.stage.transfer.shape
        if shape is None:
            return place
        if shape.where is not None or place not in shape.cells or place in dict(shape.uses).values():
            raise UnsupportedError(
                f"{self._reads.source.name}: the log left out a large value that did not change, and the row has to "
                "be looked at whole",
                "ALTER TABLE … REPLICA IDENTITY FULL",
            )
        return shape.cells.index(place)

    def _columns(self, compacted: Compacted) -> list[pa.Array]:
        images = compacted.images
        # Many times as fast as zip, which would take a hundred thousand rows as so many arguments.
        columns = [list(map(itemgetter(place), images)) for place in range(len(images[0]))]
        kept = pa.nulls(len(images), pa.large_string()) if compacted.whole else self._left_out(columns)
        texts = [text(values) for text, values in zip(self._texts, columns, strict=True)]
        numbers = compacted.kinds, [self._pieces] * len(images), compacted.copies
        return [*texts, *map(_numbers, numbers), kept]

    def _left_out(self, columns: list[list[Any]]) -> pa.Array:
        """For each row the places of what the log left out, in whose stead there is NULL afterwards."""
        found: list[str | None] = [None] * len(columns[0])
        for place, values in enumerate(columns):
            if KEPT in values:
                place = self._written(place)
                self._kept.add(place)
                for row, value in enumerate(values):
                    if value is KEPT:
                        values[row] = None
                        found[row] = f"{place}" if found[row] is None else f"{found[row]},{place}"
        return pa.array(found, pa.large_string())


def _numbers(values: list[int]) -> pa.Array:
    """As text; they are mostly the same."""
    if values.count(values[0]) == len(values):
        return pa.repeat(pa.scalar(str(values[0]), pa.large_string()), len(values))
    return copy_text.texts(values)


def _size(rows: Sequence[Image]) -> int:
    """About how many bytes of text rows have, by some of them: to look at all would take as long as to decode them."""
    some = rows[:: max(1, len(rows) // _LOOKED_AT)]
    sizes = [sum(len(value) if isinstance(value, str | bytes) else 8 for value in row) for row in some]
    return sum(sizes) * len(rows) // max(1, len(some))
