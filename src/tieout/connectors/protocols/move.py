"""What a connector offers to move rows: chunks read at one moment, and a target that takes them.

Rows travel in tab form (tieout.connectors.sql.copy_text).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from tieout.connectors.protocols.change_log import ChangeLog
from tieout.connectors.protocols.endpoint import Scan, ScanColumn
from tieout.connectors.sql.ddl import Built, Structure, UnsupportedColumn, Wiring
from tieout.connectors.sql.progress import ProgressTables
from tieout.errors import MissingObjectError, UnreachableError
from tieout.model.canonical_kinds import Form, Kind, common_kind
from tieout.model.keys import Key, KeyRange
from tieout.model.moves import Chunk, Consistency, Fence, Held, Transfer, Version
from tieout.model.positions import Position
from tieout.model.preflight import Problem, Retention, TargetLevel
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import TypeName

TextOf = Callable[[list[object]], pa.Array]
"""Values of a column, as its log tells them, as the text of tab form."""


class ChunkReader(Protocol):
    """One view of the source, for one reading of lines."""

    held: Held

    def lines(self, transfer: Transfer, keys: KeyRange, *, same_engine: bool) -> Iterator[bytes]:
        """The rows of a range in blocks of whole lines. `same_engine`: for a target of the same engine."""


class ChunkSource(Protocol):
    """Reads chunks without locks. Runs on executors: picklable, opens its own connections."""

    def reading(self) -> AbstractContextManager[ChunkReader]: ...

    def texts(self, transfer: Transfer, *, same_engine: bool) -> Sequence[TextOf]:
        """How the values of changes are written, column by column of the transfer."""

    def chunks_of(self, transfer: Transfer, bounds: Sequence[Key], keys: Sequence[Key]) -> list[int]:
        """How many of the bounds each key has reached, in the engine's own order. Keys are in tab form."""


@dataclass(frozen=True, slots=True)
class StageTable:
    """Where the changes of a table wait to be merged: its columns, and what is to be done with each row.

    `like`: it is one try's own, and is made as this one is when the first rows come.
    """

    name: TableName
    transfer: Transfer
    like: TableName | None = None

    def of_attempt(self, attempt: str) -> StageTable:
        """A try's own: whatever became of earlier ones, they can't write to it."""
        return StageTable(TableName(self.name.schema, f"{self.name.name}_{attempt}"), self.transfer, self.name)


@contextmanager
def stages_again() -> Iterator[None]:
    """A stage that is missing inside is made again: a target that was put back to an earlier copy has none of ours."""
    try:
        yield
    except MissingObjectError as error:
        raise UnreachableError(error.message, "the changes are staged again") from None


@dataclass(frozen=True, slots=True)
class StagedChanges:
    """What waits in a stage. `overlap`: it came in pieces, and a later one has the word on a key that they share;
    without a key, the same row may come and go.

    `existing`: how many of its keys should be there already; None: nobody knows. `kept`: places of columns with values
    that the log left out. `emptied`: the table was truncated before what is staged.
    """

    stage: StageTable
    rows: int
    existing: int | None
    overlap: bool = False
    kept: frozenset[int] = frozenset()
    emptied: bool = False


@dataclass(frozen=True, slots=True)
class Merge:
    """One step of a target from the position it has reached to a later one. Versions are by target table."""

    changes: Sequence[StagedChanges]
    after: Position
    upto: Position
    versions: Mapping[TableName, Version] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Destination:
    """A table of the target, as a task finds it. `there` None: it has to be made.

    `begun`: it holds rows of the task already. `refers`: it has foreign keys, or will get them.
    """

    name: TableName
    there: Table | None
    begun: bool
    refers: bool


class Loader(Protocol):
    """Writes lines to a target. Runs on executors: picklable, opens its own connections."""

    def run(self, fence: Fence, table: TableName, statements: Sequence[str], parent: TableName | None = None) -> None:
        """Runs statements of a Structure. FencedError if another mover has taken the task over."""

    def load_chunk(self, fence: Fence, transfer: Transfer, chunk: Chunk, held: Held, lines: Iterable[bytes]) -> int:
        """Writes the rows and that the chunk is done in one transaction; rows written.

        FencedError if another mover has taken the task over. Nothing is truncated or ignored: WriteError.
        """

    def stage(self, stage: StageTable, lines: Iterable[bytes], *, new: bool) -> int:
        """Adds lines to a stage, which is made first if it is new: the transfer's columns, then STAGE_COLUMNS."""


STAGE_COLUMNS = ("_tieout_kind", "_tieout_piece", "_tieout_copies", "_tieout_kept")
"""Of a staged row: its ChangeKind (INSERT or DELETE), the piece it came with, how many of it, the places left out."""


def named_as_ours(names: Iterable[str]) -> list[str]:
    """Those that a stage has for itself: a server would take the one for the other."""
    return [name for name in names if name.casefold() in STAGE_COLUMNS]


class Source(Protocol):
    """A source as the driver sees it. `keeps_position`: its log remembers what was confirmed.

    `logs_generated_columns`: its log tells the values of generated columns. `logs_all_tables`: it tells of every table, whenever
    that was made. `level`: what its log tells to belong together.
    """

    keeps_position: bool
    logs_generated_columns: bool
    logs_all_tables: bool
    level: Consistency

    def problems(self, task: str, tables: Sequence[Table]) -> list[Problem]:
        """All that stands in the way of moving these tables, each with what to do. Changes nothing."""

    def retention(self, task: str) -> Retention:
        """What the task has here, and how long the log that it needs is kept."""

    def chunk_source(self) -> ChunkSource: ...

    def structure(self, table: Table) -> Structure:
        """How the table would be made on another server of the same engine, as it is at this moment."""

    def wiring(self, table: Table) -> Wiring:
        """What a server of another engine has to know beyond the table's description, as it is at this moment."""

    def added_column_values(
        self, table: Table, columns: Sequence[Column], logged: Mapping[str, str | None] | None
    ) -> dict[str, str | None]:
        """What rows got in new columns that were there before them, in the words of a default; None: nothing.

        `logged` is what the log says of it, if it does. UnsupportedError if it can't be known.
        """

    def refuses(self, table: Table) -> str | None:
        """Why the table can't be moved without losing something, if it can't."""

    def begin_log(self, task: str, tables: Sequence[TableName]) -> Position:
        """Makes sure that the log of these tables is kept from now on; the position from which on it is."""

    def log(self, task: str) -> ChangeLog: ...

    def drop_task(self, task: str) -> None:
        """Removes all that a task left here."""


class Target(Protocol):
    """A target as the driver sees it: keeps progress, makes room, merges. Not for use by two threads.

    `level`: the most that it can make of changes.
    """

    progress: ProgressTables
    level: TargetLevel

    def problems(self, destinations: Sequence[Destination]) -> list[Problem]:
        """All that stands in the way of writing to these tables, each with what to do. Changes nothing."""

    def is_prepared(self) -> bool:
        """Whether there are tables that progress is kept in."""

    def tables_with_rows(self, tables: Sequence[TableName]) -> set[TableName]:
        """Those of the tables that have rows, as far as the user may look."""

    def prepare(self) -> None:
        """Makes the tables that progress is kept in, if they are missing."""

    def structure_of(self, table: Table, wiring: Wiring) -> Structure | list[UnsupportedColumn]:
        """How a table of another engine would be made here; or the columns that can't be."""

    def missing_types(self, types: Sequence[str]) -> list[str]:
        """Those of the types (Structure.needs) that are not there."""

    def built(self, table: TableName) -> Built:
        """The indexes and constraints that a table has."""

    def run(self, fence: Fence, table: TableName, statements: Sequence[str], parent: TableName | None = None) -> None:
        """Runs statements of a Structure. FencedError if another mover has taken the task over."""

    def make_stages(self, fence: Fence, transfers: Sequence[Transfer]) -> dict[TableName, StageTable]:
        """Empty stages, by source table, like which those of each try are made. All that earlier ones left go."""

    def drop_stages(self, stages: Sequence[StageTable]) -> None: ...

    def merge(self, fence: Fence, merge: Merge, *, with_progress: bool) -> list[str]:
        """Applies what is staged in one transaction, with the progress if asked. Returns what was unexpected, in words.

        FencedError if another mover has taken the task over. UnreachableError if the target is not where the merge
        begins, or what is staged is not there any more; nothing is applied then.
        """

    def record(self, fence: Fence, merge: Merge) -> None:
        """Writes the progress of a merge by itself."""

    def restored_tables(
        self, fence: Fence, transfers: Sequence[Transfer], chunks: Sequence[Chunk]
    ) -> dict[TableName, str]:
        """Source tables whose target was restored without the progress, and what it lacks."""

    def mark_altered(self, fence: Fence, transfers: Sequence[Transfer]) -> None:
        """The mover has altered their tables itself: none of them was restored."""

    def drop_task(self, fence: Fence) -> None:
        """Removes all that a task left here, its target tables aside."""

    def load_problem(self) -> Problem | None:
        """Why the server's load can't be measured by this user, and what to do; None: it can."""

    def lag_problem(self) -> Problem | None:
        """Why the lag of the server's replicas can't be measured by this user, and what to do; None: it can."""

    def load(self) -> int:
        """How many statements the server runs, this one aside."""

    def replica_lag(self) -> float | None:
        """How many seconds the slowest replica is behind; None if no replica is connected."""

    def loader(self) -> Loader: ...

    def reconnect(self) -> None: ...

    def close(self) -> None: ...


def key_scan(transfer: Transfer) -> Scan:
    """The source's key, as ranges are cut in it; not ordered if the engine sorts it in no order to rely on."""
    columns = tuple(_key_column(transfer.source_columns[place]) for place in transfer.key)
    places = tuple(range(len(columns)))
    ordered = all(c.column.order is not None and not c.column.nullable for c in columns)
    return Scan(transfer.source, columns, places, places if ordered else ())


def _key_column(column: Column) -> ScanColumn:
    kind = common_kind(column.type, column.type)
    return ScanColumn(column, kind if isinstance(kind, Kind) else Kind(Form.OPAQUE))


def canonical_keys(transfer: Transfer, keys: Sequence[Key]) -> list[Key]:
    r"""Keys in tab form as canonical text, which differs in bytes alone: 0x instead of \x."""
    is_bytes = [transfer.source_columns[place].type.name is TypeName.BINARY for place in transfer.key]
    return [tuple("0x" + t[2:] if b else t for t, b in zip(key, is_bytes, strict=True)) for key in keys]
