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

PIECE_ROWS = 200_000
"""As many keys are held in memory; more are staged in several pieces."""
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
    """A piece of work: stages the changes of (after, upto]."""

    log: ChangeLog
    source: ChunkSource
    loader: Loader
    tables: Mapping[TableName, Staging]
    alike: bool
    after: Position
    upto: Position
    _before: Position = field(init=False)
    _at: list[TableName] = field(init=False, default_factory=list)

    def run(self) -> Iterator[SliceStaged | Trouble]:
        self._before = self.after
        try:
            yield self._staged()
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

    def _staged(self) -> SliceStaged:
        reach("before-read")
        stagers = {
            name: _Stager(staging, self.source, self.loader, self.alike) for name, staging in self.tables.items()
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
        reach("after-stage")
        rows = sum(stager.seen for stager in stagers.values())
        return SliceStaged(self.after, self.upto, tuple(changes), versions, rows, tuple(statements), newest)


@dataclass
class _Stager:
    """Compacts the changes of one table and stages them, in pieces if they are many."""

    staging: Staging
    source: ChunkSource
    loader: Loader
    alike: bool
    seen: int = 0
    _staged: int = 0
    _pieces: int = 0
    _existing: int = 0
    _before: set[int] | None = field(default_factory=set)
    _overlap: bool = False
    _emptied: bool = False
    _kept: set[int] = field(default_factory=set)
    _shapes: dict[int, tuple[LogTable, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        transfer = self.staging.stage.transfer
        self._texts: Sequence[TextOf] = self.source.texts(transfer, alike=self.alike)
        self._changes: KeyedChanges | CopiedChanges = (
            KeyedChanges(transfer.source.name, len(transfer.columns), transfer.key)
            if transfer.key
            else CopiedChanges(transfer.source.name)
        )

    def add(self, changes: Rows, transaction: Begin) -> None:
        self.seen += len(changes.rows)
        changes = self._shaped(changes)
        holdings = self.staging.holdings
        if holdings.concerns(transaction):
            for part in holdings.rest(changes, transaction, self._key_of, self._chunks_of):
                self._changes.add(part)
        else:
            self._changes.add(changes)
        if len(self._changes) >= PIECE_ROWS:
            self._flush()

    def empty(self, transaction: Begin) -> None:
        """A table that was truncated while it was copied has chunks from before and from after."""
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
        return StagedChanges(
            self.staging.stage, self._staged, self._existing, self._overlap, frozenset(self._kept), self._emptied
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
        transfer = self.staging.stage.transfer
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
        return row[self.staging.stage.transfer.key[0]]

    def _chunks_of(self, rows: Sequence[Image]) -> list[int]:
        transfer = self.staging.stage.transfer
        keys = list(
            zip(*(self._texts[place]([row[place] for row in rows]).to_pylist() for place in transfer.key), strict=True)
        )
        return self.source.chunks_of(transfer, self.staging.holdings.bounds, keys)

    def _flush(self) -> None:
        if isinstance(self._changes, KeyedChanges):
            self._note_overlap(set(map(hash, self._changes.keys())))
        compacted, existing = self._changes.take()
        self._existing += existing
        if not compacted.images:
            return
        self._staged += self.loader.stage(self.staging.stage, [self._lines(compacted)])
        self._pieces += 1

    def _note_overlap(self, hashes: set[int]) -> None:
        """Whether an earlier piece may have one of these keys; of too many pieces that is not remembered."""
        self._overlap = self._overlap or self._before is None or not self._before.isdisjoint(hashes)
        if self._before is not None:
            self._before = self._before | hashes if len(self._before) < MOST_HASHES else None

    def _lines(self, compacted: Compacted) -> bytes:
        columns = [list(values) for values in zip(*compacted.images, strict=True)]
        kept: list[str | None] = [None] * len(compacted.images)
        for place, values in enumerate(columns):
            if KEPT in values:
                self._kept.add(place)
                for row, value in enumerate(values):
                    if value is KEPT:
                        values[row] = None
                        kept[row] = f"{place}" if kept[row] is None else f"{kept[row]},{place}"
        texts = [text(values) for text, values in zip(self._texts, columns, strict=True)]
        numbers = [tabs.texts(compacted.kinds), tabs.texts([self._pieces] * len(kept)), tabs.texts(compacted.copies)]
        return tabs.lines([*texts, *numbers, pa.array(kept, pa.large_string())])
