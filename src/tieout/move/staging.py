"""Reads a part of the log and stages what it changed: on an executor, from the reader straight to the writer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any

import pyarrow as pa

from tieout.connectors import tabs
from tieout.connectors.changelog import ChangeLog
from tieout.connectors.moving import ChunkSource, Loader, StagedChanges, StageTable, TextOf
from tieout.errors import UnsupportedError, WriteError
from tieout.failpoints import reach
from tieout.model.changes import KEPT, Begin, Commit, Emptied, Image, LogTable, Rows, Statement
from tieout.model.moving import Version
from tieout.model.positions import Position
from tieout.model.tables import TableName
from tieout.move.compaction import Compacted, CopiedChanges, KeyedChanges
from tieout.move.holdings import Holdings
from tieout.move.trouble import ColumnsChanged, Trouble
from tieout.spark.work import Cells

PIECE_ROWS, PIECE_BYTES = 200_000, 64 << 20
"""As many keys are held in memory, and about as many bytes; more are staged in several pieces."""
_LOOKED_AT = 8
MOST_HASHES = 5 * PIECE_ROWS


@dataclass(frozen=True)
class Staging:
    """How the changes of one table are staged, and which of them its chunks hold."""

    stage: StageTable
    holdings: Holdings


@dataclass(frozen=True, slots=True)
class SliceStaged:
    """What came of a part of the log. Versions are by target table; `newest` is the last commit in it."""

    after: Position
    upto: Position
    changes: tuple[StagedChanges, ...]
    versions: Mapping[TableName, Version]
    rows: int
    statements: tuple[Statement, ...] = ()
    newest: Commit | None = None


@dataclass
class StageSlice:
    """A piece of work: stages the changes of (after, upto]. `first` is the number of the first table's stager."""

    log: ChangeLog
    source: ChunkSource
    loader: Loader
    tables: Mapping[TableName, Staging]
    alike: bool
    after: Position
    upto: Position
    first: int = 0
    _before: Position = field(init=False)
    _at: list[TableName] = field(init=False, default_factory=list)

    def run(self) -> Iterator[SliceStaged | Trouble | Cells]:
        self._before = self.after
        try:
            yield from self._staged()
        except ColumnsChanged as changed:
            yield Trouble(self._at[0], changed.reason, self._before, changed.columns)
        except (UnsupportedError, WriteError) as error:
            if not self._at:
                raise  # the log itself, and not one table
            yield Trouble(self._at[0], str(error), self._before)

    @contextmanager
    def _working_on(self, table: TableName) -> Iterator[TableName]:
        """What goes wrong inside is the table's trouble."""
        self._at.append(table)
        yield table
        self._at.clear()

    def _staged(self) -> Iterator[SliceStaged | Cells]:
        reach("before-read")
        stagers = {
            name: _Stager(staging, number, self.source, self.loader, self.alike)
            for number, (name, staging) in enumerate(self.tables.items(), self.first)
        }
        transaction: Begin | None = None
        touched: set[TableName] = set()
        statements: list[Statement] = []
        versions: dict[TableName, Version] = {}
        newest: Commit | None = None
        for item in self.log.read(self.after, self.upto, frozenset(stagers)):
            if isinstance(item, Rows):
                assert transaction is not None
                with self._working_on(item.table.name) as name:
                    stagers[name].add(item, transaction)
                    touched.add(name)
                yield from stagers[name].handed_on()
            elif isinstance(item, Begin):
                transaction = item
            elif isinstance(item, Commit):
                for name in touched:
                    versions[self.tables[name].stage.transfer.target.name] = Version(item.transaction, item.at)
                touched.clear()
                self._before, newest = item.position, item
            elif isinstance(item, Emptied):
                assert transaction is not None
                with self._working_on(item.table) as name:
                    stagers[name].empty(transaction)
                    touched.add(name)
            else:
                statements.append(item)
        reach("after-read")
        changes = []
        for name, stager in stagers.items():
            with self._working_on(name):
                if (staged := stager.finish()) is not None:
                    changes.append(staged)
            yield from stager.handed_on()
        reach("after-stage")
        rows = sum(stager.seen for stager in stagers.values())
        yield SliceStaged(self.after, self.upto, tuple(changes), versions, rows, tuple(statements), newest)


@dataclass
class _Stager:
    """Compacts the changes of one table and stages them, in pieces if they are many.

    What there is work for on the way is handed on to Spark instead, under the stager's number.
    """

    staging: Staging
    number: int
    source: ChunkSource
    loader: Loader
    alike: bool
    seen: int = 0
    _staged: int = 0
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
        holdings = self.staging.holdings
        self._settled = self._settled and holdings.are_settled(transaction)
        try:
            changes = self._shaped(changes)
        except ColumnsChanged as changed:
            if holdings.may_be_later_than(transaction):
                # Its chunks were read without the column: values that it had by then are in none of them.
                raise UnsupportedError(
                    f"{changed.reason} while it was copied", "drop the task and begin anew"
                ) from None
            raise
        if holdings.concerns(transaction):
            for part in holdings.rest(changes, transaction, self._key_of, self._chunks_of):
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
        if self.staging.holdings.concerns(transaction):
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
        if not self._staged and not self._emptied:
            return None
        # Of rows that a filter holds back nobody knows whether they were there.
        filtered = (shape := self.staging.stage.transfer.shape) is not None and shape.where is not None
        existing = self._existing if self._settled and not filtered else None
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
        return self.source.chunks_of(transfer, self.staging.holdings.bounds, keys)

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
            self._staged += self.loader.stage(self.staging.stage, [tabs.lines(columns)])
        else:
            self._staged += len(columns[0])
            self._outbox.append(Cells(self.number, columns))
        self._pieces += 1

    def _note_overlap(self, hashes: set[int]) -> None:
        """Whether an earlier piece may have one of these keys; of too many pieces that is not remembered."""
        self._overlap = self._overlap or self._before is None or not self._before.isdisjoint(hashes)
        if self._before is not None:
            self._before = self._before | hashes if len(self._before) < MOST_HASHES else None

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
        columns = [list(values) for values in zip(*compacted.images, strict=True)]
        kept: list[str | None] = [None] * len(compacted.images)
        for place, values in enumerate(columns):
            if KEPT in values:
                place = self._written(place)
                self._kept.add(place)
                for row, value in enumerate(values):
                    if value is KEPT:
                        values[row] = None
                        kept[row] = f"{place}" if kept[row] is None else f"{kept[row]},{place}"
        texts = [text(values) for text, values in zip(self._texts, columns, strict=True)]
        numbers = [tabs.texts(compacted.kinds), tabs.texts([self._pieces] * len(kept)), tabs.texts(compacted.copies)]
        return [*texts, *numbers, pa.array(kept, pa.large_string())]


def _size(rows: Sequence[Image]) -> int:
    """About how many bytes of text rows have, by some of them: to look at all would take as long as to decode them."""
    some = rows[:: max(1, len(rows) // _LOOKED_AT)]
    sizes = [sum(len(value) if isinstance(value, str | bytes) else 8 for value in row) for row in some]
    return sum(sizes) * len(rows) // max(1, len(some))
