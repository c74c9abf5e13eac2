"""Reads a log batch and stages its changes on the target: on an executor, from the log's reader straight to the writer.

`StageLogBatch` is the work. It reads the log and hands each table's changes to a `TableStager`, which compacts them and
writes them to the table's `StageTable`. The result, `StagedLogBatch`, names the stages that the driver merges.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import compress
from operator import itemgetter
from secrets import token_hex
from typing import Any
from zlib import crc32

import pyarrow as pa

from tieout.connectors.protocols.change_log import ChangeLog
from tieout.connectors.protocols.move import ChunkSource, Loader, ShareRows, StagedChanges, StageTable, TextOf
from tieout.connectors.sql import copy_text
from tieout.errors import UnsupportedError, WriteError
from tieout.failpoints import reach
from tieout.model.moves import Version
from tieout.model.positions import Position
from tieout.model.row_changes import KEPT, Begin, Commit, Emptied, Image, LogTable, Reached, Rows
from tieout.model.tables import TableName
from tieout.move import schema_changes
from tieout.move.schema_changes import ColumnsChanged, TableChanged, TableProblem, TableProblemFound
from tieout.move.snapshot_overlap import SnapshotOverlap
from tieout.spark.executor_work import Cells
from tieout.tasks.compaction import Compacted, CopiedChanges, KeyedChanges


@dataclass(frozen=True, slots=True)
class StagedLogBatch:
    """The result of staging a log batch. Versions are by target table; `newest` is the last commit in it.

    `upto` is the requested end, with what proves it later.
    """

    after: Position
    upto: Position
    changes: tuple[StagedChanges, ...]
    versions: Mapping[TableName, Version]
    rows: int
    newest: Commit | None = None


@dataclass
class StageLogBatch:
    """A piece of work: stages the changes of (after, upto], in stages that each attempt creates for itself."""

    log: ChangeLog
    source: ChunkSource
    loader: Loader
    stages: Mapping[TableName, StageTable]
    overlaps: Mapping[TableName, SnapshotOverlap]
    same_engine: bool
    after: Position
    upto: Position
    shares: Mapping[TableName, int] = field(default_factory=dict)
    _before: Position = field(init=False)

    def run(self) -> Iterator[StagedLogBatch | TableProblem | Cells]:
        """May be called again if it raised: a failed attempt leaves nothing here."""
        self._before = self.after
        try:
            with _no_cycles(), ThreadPoolExecutor(1, "tieout-stage") as pool:
                yield from self._staged(BackgroundWriter(pool))
        except TableProblemFound as found:
            yield found.problem

    @contextmanager
    def _working_on(self, table: TableName) -> Iterator[TableName]:
        """Turns errors inside into a problem of the table, so that it does not end the log."""
        try:
            yield table
        except ColumnsChanged as changed:
            raise TableProblemFound(changed.problem(table, self._before)) from None
        except TableChanged as changed:
            raise TableProblemFound(TableProblem(table, str(changed), self._before, exact=True)) from None
        except (UnsupportedError, WriteError) as error:
            raise TableProblemFound(TableProblem(table, str(error), self._before)) from None

    def _staged(self, writer: BackgroundWriter) -> Iterator[StagedLogBatch | Cells]:
        reach("before-read")
        attempt = token_hex(4)
        stagers = {
            name: TableStager(
                stage.of_attempt(attempt),
                self.overlaps[name],
                number,
                self.source,
                writer,
                self.loader,
                self.same_engine,
                self.shares.get(name, 1),
            )
            for number, (name, stage) in enumerate(self.stages.items())
        }
        transaction: Begin | None = None
        touched: set[TableName] = set()
        versions: dict[TableName, Version] = {}
        newest: Commit | None = None
        reached = self.upto
        for item in self.log.read(self.after, self.upto, frozenset(stagers)):
            if isinstance(item, Rows):
                assert transaction is not None
                with self._working_on(item.table.name) as name:
                    stagers[name].add(item, transaction)
                    touched.add(name)
                yield from stagers[name].for_spark()
            elif isinstance(item, Begin):
                transaction = item
            elif isinstance(item, Commit):
                for name in touched:
                    versions[self.stages[name].transfer.target.name] = Version(item.transaction, item.at)
                touched.clear()
                self._before, newest = item.position, item
            elif isinstance(item, Reached):
                reached = item.position
            elif isinstance(item, Emptied):
                assert transaction is not None
                with self._working_on(item.table) as name:
                    stagers[name].empty(transaction)
                    touched.add(name)
            else:
                assert transaction is not None
                for change in item.redefined:
                    with self._working_on(change.table) as name:
                        schema_changes.follow(change, transaction, self.stages[name].transfer, self.overlaps[name])
        reach("after-read")
        changes = []
        for name, stager in stagers.items():
            with self._working_on(name):
                if (staged := stager.finish()) is not None:
                    changes.append(staged)
            yield from stager.for_spark()
        reach("after-stage")
        rows = sum(stager.seen for stager in stagers.values())
        yield StagedLogBatch(self.after, reached, tuple(changes), versions, rows, newest)


@contextmanager
def _no_cycles() -> Iterator[None]:
    """Turns garbage collection off: millions of rows make no cycles, and each collection would look at all of them."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


PIECE_ROWS, PIECE_BYTES = 200_000, 64 << 20
"""The most keys and bytes, roughly, to hold in memory; more are staged in several pieces."""
_SAMPLED = 8
MOST_HASHES = 5 * PIECE_ROWS


class BackgroundWriter:
    """Runs one call at a time in the background; `submit` waits for the previous one first.

    So only one piece waits to be written, of whatever table.
    """

    def __init__(self, pool: Executor) -> None:
        self._pool = pool
        self._last: Future[Any] | None = None

    def submit(self, call: Callable[..., int], *arguments: Any) -> Future[int]:
        if self._last is not None:
            self._last.exception()  # waits for it; the one who submitted it raises its error
        self._last = submitted = self._pool.submit(call, *arguments)
        return submitted


@dataclass
class TableStager:
    """Compacts the changes of one table and stages them, in several pieces if they are many.

    Rows with a transform go to Spark instead, under the stager's number.
    """

    stage: StageTable
    overlap: SnapshotOverlap
    number: int
    source: ChunkSource
    writer: BackgroundWriter
    loader: Loader
    same_engine: bool
    shares: int = 1
    seen: int = 0
    _staged: int = 0
    _writing: Future[int] | None = None
    _bytes: int = 0
    _pieces: int = 0
    _since: int = 0
    _rows: Counter[int] = field(default_factory=Counter)
    _existing: Counter[int] = field(default_factory=Counter)
    _before: set[int] | None = field(default_factory=set)
    _repeats: bool = False
    _settled: bool = True
    _emptied: bool = False
    _kept: set[int] = field(default_factory=set)
    _orders: dict[int, tuple[LogTable, Any]] = field(default_factory=dict)
    _outbox: list[Cells] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._reads = transfer = self.stage.transfer.reads
        self._texts: Sequence[TextOf] = self.source.texts(transfer, same_engine=self.same_engine)
        self._changes: KeyedChanges | CopiedChanges = (
            KeyedChanges(transfer.source.name, [column.name for column in transfer.source_columns], transfer.key)
            if transfer.key
            else CopiedChanges(transfer.source.name)
        )

    def add(self, changes: Rows, transaction: Begin) -> None:
        self.seen += len(changes.rows)
        overlap = self.overlap
        if transaction.late and overlap.concerns(transaction):
            # The log has an XA COMMIT before its changes become visible: a snapshot from in between lacks them.
            raise UnsupportedError(
                f"XA transaction {transaction.transaction} changed {changes.table.name} while it was copied",
                "drop the task and start over while no XA transaction changes the table",
            )
        self._settled = self._settled and not transaction.repeats and overlap.are_settled(transaction)
        try:
            changes = self._in_order(changes)
        except ColumnsChanged as changed:
            if overlap.may_be_later_than(transaction):
                # Its chunks were read without the column: values that it had by then are in none of them.
                raise UnsupportedError(
                    f"{changed.reason} while it was copied", "drop the task and start over"
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

    def for_spark(self) -> Iterator[Cells]:
        """Yields the rows for Spark, each once."""
        while self._outbox:
            yield self._outbox.pop(0)

    def empty(self, transaction: Begin) -> None:
        """Handles a TRUNCATE. Refuses one during the copy: chunks were read before and after it."""
        shape = self.stage.transfer.shape
        if shape is not None and shape.shared:
            name = self.stage.transfer.target.name
            raise UnsupportedError(
                f"{self._reads.source.name} was truncated, and {name} holds rows of other tables",
                "delete its rows there and start over",
            )
        if self.overlap.concerns(transaction):
            raise UnsupportedError(
                f"{self.stage.transfer.source.name} was truncated while it was copied",
                "drop the task and start over",
            )
        self._changes.clear()
        self._bytes = 0
        self._emptied = True
        # What is staged already does not count any more.
        self._since, self._repeats, self._before = self._pieces, False, set()
        self._rows.clear()
        self._existing.clear()
        self._kept.clear()

    def finish(self) -> StagedChanges | None:
        if len(self._changes):
            self._flush()
        self._wait_for_writing()
        if not self._staged and not self._emptied:
            return None
        # It is unknown whether rows that a filter removes were there before.
        filtered = (shape := self.stage.transfer.shape) is not None and shape.where is not None
        # A key that several pieces have was counted in each of them.
        counted = self._settled and not filtered and not self._repeats
        shares = tuple(
            ShareRows(self._rows[share], self._existing[share] if counted else None) for share in range(self.shares)
        )
        return StagedChanges(self.stage, shares, self._repeats, frozenset(self._kept), self._emptied, self._since)

    def _in_order(self, changes: Rows) -> Rows:
        """The images with the transfer's columns, in its order."""
        known = self._orders.get(id(changes.table))
        if known is None:
            # Kept with its table, so that no other table gets its id.
            known = self._orders[id(changes.table)] = changes.table, self._order_of(changes.table)
        shape = known[1]
        if shape is None:
            return changes
        before = changes.before and [None if row is None else shape(row) for row in changes.before]
        return replace(changes, rows=[shape(row) for row in changes.rows], before=before)

    def _order_of(self, table: LogTable) -> Any:
        transfer = self._reads
        names = tuple(column.name for column in transfer.source_columns)
        if table.columns == names:
            return None
        missing = sorted(set(names) - set(table.columns))
        if missing:
            raise ColumnsChanged(f"{table.name} no longer has a column {missing[0]}", table.columns)
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
        return self.source.chunks_of(transfer, self.overlap.bounds, keys)

    def _flush(self) -> None:
        self._bytes = 0
        if isinstance(self._changes, KeyedChanges):
            self._note_repeats(set(map(hash, self._changes.keys())))
        else:
            # A transform may make different rows equal.
            self._repeats = self._pieces > self._since or self.stage.transfer.shape is not None
        compacted = self._changes.take()
        if not compacted.images:
            return
        columns = self._columns(compacted)
        if self.stage.transfer.shape is None:
            self._wait_for_writing()
            write = partial(self.loader.stage, new=self._pieces == 0)
            self._writing = self.writer.submit(write, self.stage, [copy_text.lines(columns)])
        else:
            self._staged += len(columns[0])
            self._outbox.append(Cells(self.number, columns))
        self._pieces += 1

    def _wait_for_writing(self) -> None:
        if self._writing is not None:
            self._staged += self._writing.result()
            self._writing = None

    def _note_repeats(self, hashes: set[int]) -> None:
        """Notes whether an earlier piece may have one of these keys; after too many keys it assumes so."""
        self._repeats = self._repeats or self._before is None or not self._before.isdisjoint(hashes)
        if self._before is not None and len(self._before) < MOST_HASHES:
            self._before |= hashes
        else:
            self._before = None

    def _written(self, place: int) -> int:
        """The target's column index for a value that the log left out, from its index in what is read."""
        shape = self.stage.transfer.shape
        if shape is None:
            return place
        if shape.where is not None or place not in shape.cells or place in dict(shape.uses).values():
            raise UnsupportedError(
                f"{self._reads.source.name}: the log left out a large value that did not change, and the transform "
                "needs the whole row",
                "ALTER TABLE … REPLICA IDENTITY FULL",
            )
        return shape.cells.index(place)

    def _columns(self, compacted: Compacted) -> list[pa.Array]:
        images = compacted.images
        # Many times as fast as zip, which would get each of a hundred thousand rows as an argument.
        columns = [list(map(itemgetter(place), images)) for place in range(len(images[0]))]
        kept = pa.nulls(len(images), pa.large_string()) if compacted.whole else self._left_out(columns)
        texts = [text(values) for text, values in zip(self._texts, columns, strict=True)]
        shares = self._shares(texts)
        self._rows.update(shares)
        self._existing.update(compress(shares, compacted.existed))
        numbers = compacted.kinds, [self._pieces] * len(images), compacted.copies
        return [*texts, *map(_numbers, numbers), kept, _numbers(shares), _numbers(compacted.existed)]

    def _shares(self, texts: Sequence[pa.Array]) -> list[int]:
        """The share of each row: its key's for as long as the mover lives, and for the next mover, too."""
        if self.shares == 1:
            return [0] * len(texts[0])
        keys = zip(*(texts[place].to_pylist() for place in self._reads.key), strict=True)
        return [crc32("\t".join(key).encode()) % self.shares for key in keys]

    def _left_out(self, columns: list[list[Any]]) -> pa.Array:
        """For each row the column indexes of values that the log left out; replaces those values by NULL."""
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
    """Numbers as text; they are mostly the same."""
    if values.count(values[0]) == len(values):
        return pa.repeat(pa.scalar(str(values[0]), pa.large_string()), len(values))
    return copy_text.texts(values)


def _size(rows: Sequence[Image]) -> int:
    """About how many bytes of text rows have, by a sample: measuring all would take as long as decoding them."""
    some = rows[:: max(1, len(rows) // _SAMPLED)]
    sizes = [sum(len(value) if isinstance(value, str | bytes) else 8 for value in row) for row in some]
    return sum(sizes) * len(rows) // max(1, len(some))
