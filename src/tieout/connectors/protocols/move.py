"""Moving rows: a source that reads chunks and keeps a log, and a target that loads chunks and merges changes.

Rows travel as lines of tab-separated text (tieout.connectors.sql.copy_text).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Protocol

import pyarrow as pa

from tieout.connectors.protocols.change_log import ChangeLog, Retyped
from tieout.connectors.protocols.endpoint import Scan, ScanColumn
from tieout.connectors.protocols.finish import Catalog, TargetFinish
from tieout.connectors.sql.chunk_progress import ChunkTable
from tieout.connectors.sql.ddl import Built, Structure, UnsupportedColumn, Wiring
from tieout.connectors.sql.lane_progress import LaneTable
from tieout.connectors.sql.progress import ProgressTables
from tieout.connectors.sql.restart_progress import RestartTable
from tieout.connectors.sql.selection import Selection
from tieout.errors import MissingObjectError, UnreachableError, WriteError
from tieout.model.canonical_kinds import Form, Kind, common_kind
from tieout.model.keys import Key, KeyRange
from tieout.model.levels import TargetLevel
from tieout.model.move_status import RowNotFound
from tieout.model.moves import Chunk, Consistency, Fence, Held, Lane, Transfer, Version
from tieout.model.positions import Position
from tieout.model.preflight import Problem, Retention
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import TypeName

Rewritten = AbstractContextManager[Iterator[bytes]]
"""Rows in blocks of whole lines, to read inside the block."""

TextOf = Callable[[list[object]], pa.Array]
"""Turns values of one column, as the change log has them, into the text of copy_text."""


class ChunkReader(Protocol):
    """One view of the source, on executors. Read lines once: the view ends with the block of `ChunkSource.reading`."""

    held: Held
    """Which transactions of the log the rows of this view contain."""

    def lines(self, transfer: Transfer, keys: KeyRange, *, same_engine: bool) -> Iterator[bytes]:
        """Yields the rows of a key range in blocks of whole lines. `same_engine`: the target has the same engine."""


class ChunkSource(Protocol):
    """Reads chunks without locking rows. Runs on executors: picklable, opens its own connections."""

    def reading(self) -> AbstractContextManager[ChunkReader]:
        """Opens a view of the source for the block."""

    def texts(self, transfer: Transfer, *, same_engine: bool) -> Sequence[TextOf]:
        """Returns one function for each column of the transfer, which writes the values of logged changes."""

    def chunks_of(self, transfer: Transfer, bounds: Sequence[Key], keys: Sequence[Key]) -> list[int]:
        """Returns for each key how many of the bounds it has reached, in the engine's own order.

        Keys are texts of copy_text.
        """


@dataclass(frozen=True, slots=True)
class StageTable:
    """The table in which changes wait for the merge: the transfer's columns, then STAGE_COLUMNS.

    `like`: set for the stage of one attempt, which is created like this stage when its first rows arrive.
    """

    name: TableName
    transfer: Transfer
    like: TableName | None = None

    def of_attempt(self, attempt: str) -> StageTable:
        """Returns a stage for one attempt only, which no earlier attempt that is still running can write to."""
        return StageTable(TableName(self.name.schema, f"{self.name.name}_{attempt}"), self.transfer, self.name)


@contextmanager
def missing_stage_is_transient() -> Iterator[None]:
    """Makes a missing stage a transient error, so that it is created again: a restored target has no stages."""
    try:
        yield
    except MissingObjectError as error:
        raise UnreachableError(error.message, "the changes are staged again") from None


class ChangesRefused(WriteError):
    """The target refuses changes of one table of the source, which it has staged; nothing of the merge is applied."""

    def __init__(self, message: str, hint: str | None = None, table: TableName | None = None) -> None:
        super().__init__(message, hint)
        self.args = (message, hint, table)
        self.table = table


@dataclass(frozen=True, slots=True)
class ShareRows:
    """How many rows a share (Lane) has in a stage.

    `existing`: how many of their keys the target should already have; None if unknown.
    """

    rows: int
    existing: int | None = None


@dataclass(frozen=True, slots=True)
class StagedChanges:
    """The changes that wait in a stage, counted for each share; one share is the whole table.

    `overlap`: the stage was written in several pieces; if two have the same key, the later piece counts. Without a key,
    the same row may be inserted and deleted again.
    `kept`: the places of columns for which the log has no values in some rows; those keep the target's values.
    `emptied`: the source's table was truncated before the staged changes. `since`: the number of the first piece that
    was staged after that; the rows of earlier ones do not count.
    """

    stage: StageTable
    shares: tuple[ShareRows, ...]
    overlap: bool = False
    kept: frozenset[int] = frozenset()
    emptied: bool = False
    since: int = 0

    @property
    def rows(self) -> int:
        return sum(share.rows for share in self.shares)

    def of(self, share: int | None) -> ShareRows:
        """The rows of one share; None: of all."""
        if share is not None:
            return self.shares[share]
        known = [each.existing for each in self.shares if each.existing is not None]
        return ShareRows(self.rows, sum(known) if len(known) == len(self.shares) else None)


@dataclass(frozen=True, slots=True)
class Merge:
    """Takes a target from the position that it has reached to a later one. `versions` are by target table.

    `committed`: when the source committed what lies before `upto`, in microseconds since 1970; None if unknown.
    `again`: the target may have applied it before, as a whole or in part.
    """

    changes: Sequence[StagedChanges]
    after: Position
    upto: Position
    versions: Mapping[TableName, Version] = field(default_factory=dict)
    committed: int | None = None
    again: bool = False


@dataclass(frozen=True, slots=True)
class LaneStep:
    """One step of a lane: it merges its rows of the batch with this number.

    `before` is the position that the lane has stored, None if it has stored none since the mover began to follow at
    `began`: until then it was where the task was.
    """

    lane: Lane
    batch: int
    before: Position | None
    began: Position


@dataclass(frozen=True, slots=True)
class Destination:
    """A table of the target before a task starts. `there` is None if the mover has to create it.

    `has_task_rows`: from an earlier run. `has_foreign_keys`: now, or the mover will create them.
    """

    name: TableName
    there: Table | None
    has_task_rows: bool
    has_foreign_keys: bool


class Loader(Protocol):
    """Writes lines to a target. Runs on executors: picklable, opens its own connections.

    Must never truncate a value or skip a row: WriteError. FencedError if another mover has taken the task over.
    `classed`: in its lines a letter is the class of a value, as SQLite needs it.
    """

    classed: ClassVar[bool]

    def run(self, fence: Fence, table: TableName, statements: Sequence[str], parent: TableName | None = None) -> None:
        """Runs statements of a Structure, with these names in place of its placeholders."""

    def load_chunk(self, fence: Fence, transfer: Transfer, chunk: Chunk, held: Held, lines: Iterable[bytes]) -> int:
        """Writes the rows and records the chunk as done, in one transaction. Returns the number of rows written."""

    def stage(self, stage: StageTable, lines: Iterable[bytes], *, new: bool) -> int:
        """Appends lines to a stage and returns their number. `new`: creates the stage first."""


STAGE_COLUMNS = (
    "_tieout_kind",
    "_tieout_piece",
    "_tieout_copies",
    "_tieout_kept",
    "_tieout_share",
    "_tieout_existed",
)
"""Columns of a stage: ChangeKind (INSERT or DELETE), number of the piece, copies of the row, places without values,
the row's share (Lane), and 1 if its key was there before its first change.
"""


def clashing_names(names: Iterable[str]) -> list[str]:
    """Returns the names that clash with STAGE_COLUMNS: a server would confuse the two."""
    return [name for name in names if name.casefold() in STAGE_COLUMNS]


class TypeCatalog(Protocol):
    """What a source's catalog knows about columns that are others, or have another type, now (TypeChanges.CATALOG)."""

    def rewritten(self, transfer: Transfer, columns: Sequence[str], *, same_engine: bool) -> Rewritten:
        """Returns the rows that have not changed since the server wrote all of them again with these columns' types.

        UnsupportedError if it is unknown which rows these are.
        """

    def accept(self, table: TableName, change: Retyped) -> None:
        """Records that the change is followed: `ChangeLog.coverage` does not report it again."""

    def note_added(self, table: TableName, columns: Sequence[str]) -> None:
        """Records new ones among the log's columns, in its order: from then on `ChangeLog.coverage` reports if a name
        is another column. UnsupportedError if one of them may be another column already than in the log.
        """


class TypeChanges(StrEnum):
    """How a source reports that a column has another type: with the statement in its log, by its catalog, or never."""

    LOGGED = "logged"
    CATALOG = "catalog"
    UNSEEN = "unseen"


class Source(Protocol):
    """A source of moves, on the driver.

    `keeps_position`: the source remembers the position that was confirmed.
    `logs_generated_columns`: its log has the values of generated columns.
    `level`: the largest unit whose changes the log keeps together.
    `type_changes`: how a mover learns of them.
    """

    keeps_position: bool
    logs_generated_columns: bool
    level: Consistency
    type_changes: TypeChanges

    def problems(self, task: str, tables: Sequence[Table]) -> list[Problem]:
        """Returns everything that prevents a move of these tables, each with its fix. Changes nothing."""

    def retention(self, task: str) -> Retention:
        """Returns what the task has left on the source, and how long the source retains the log for it."""

    def chunk_source(self) -> ChunkSource:
        """Returns what reads chunks on executors. Does not connect."""

    def structure(self, table: Table, selection: Selection | None = None) -> Structure:
        """Returns how to create the table on another server of the same engine, as it is at this moment.

        With a `selection`, with the columns of that.
        """

    def wiring(self, table: Table) -> Wiring:
        """Returns what another engine needs beyond the table's description, as it is at this moment."""

    def added_column_values(
        self, table: Table, columns: Sequence[Column], logged: Mapping[str, str | None] | None
    ) -> dict[str, str | None]:
        """Returns the value that existing rows got in each of these new columns, written as a default; None: none.

        `logged` is what the log says about it; None if it says nothing. UnsupportedError if the value is unknown.
        """

    def type_catalog(self, task: str) -> TypeCatalog | None:
        """Returns what knows about changed types; None unless `type_changes` is CATALOG."""

    def collation_of(self, table: Table) -> str | None:
        """Returns the collation of text columns whose definition names none; None if the table has no such default."""

    def refuses(self, table: Table) -> str | None:
        """Returns why moving the table would lose something; None if it can move."""

    def whole_rows(self, table: Table) -> str | None:
        """Returns the statement that makes the log have whole rows of the table; None if no statement has to."""

    def begin_log(self, task: str, tables: Sequence[TableName]) -> Position:
        """Makes the source retain the log of these tables. Returns the position from which on it does."""

    def add_tables(self, task: str, tables: Sequence[TableName]) -> None:
        """Makes a log that has begun have the changes of these tables, too. A log that begins later lacks none that
        this one has not.
        """

    def hand_over(self, joining: str, task: str, tables: Sequence[TableName]) -> None:
        """Makes the task know these tables as the one knows them that has followed them until now. May be repeated."""

    def log(self, task: str) -> ChangeLog:
        """Returns the task's change log for executors."""

    def catalog(self) -> Catalog:
        """Returns what reads the source's definitions. The caller closes it."""

    def drop_task(self, task: str) -> None:
        """Removes everything that a task has left on the source."""


class Target(Protocol):
    """A target of moves, on the driver: stores progress, creates stages, merges. Two threads must not share one.

    `writers`: how many connections can write at the same time; None: many.
    Methods with a `fence` raise FencedError, and change nothing, if another mover has taken the task over.
    """

    progress: ProgressTables
    chunks: ChunkTable
    restarts: RestartTable
    lanes: LaneTable
    writers: int | None

    def level_of(self, table: Table | None) -> TargetLevel:
        """Returns how safely changes can be applied to a table; None: to one that the mover creates."""

    def problems(self, destinations: Sequence[Destination]) -> list[Problem]:
        """Returns everything that prevents writing to these tables, each with its fix. Changes nothing."""

    def joined_keys(self, transfers: Sequence[Transfer]) -> dict[TableName, str]:
        """Returns the target tables whose rows can't be merged in shares (Lane), and why.

        Rows of different keys would get in each other's way: by another unique index, or by a key of which the server
        considers different values equal.
        """

    def is_prepared(self) -> bool:
        """Returns whether the progress tables exist."""

    def tables_with_rows(self, tables: Sequence[TableName]) -> set[TableName]:
        """Returns those of the tables that have rows. Leaves out tables that the user may not read."""

    def prepare(self) -> None:
        """Creates the progress tables if they are missing."""

    def structure_of(self, table: Table, wiring: Wiring) -> Structure | list[UnsupportedColumn]:
        """Returns how to create a table of another engine here, or the columns that no type here can hold."""

    def declared(self, table: Table, names: Sequence[str]) -> Mapping[str, str] | list[UnsupportedColumn]:
        """Returns how CREATE TABLE defines these columns of a table that is described independently of an engine."""

    def widening(self, table: Table, source: Table, names: Mapping[str, str], *, same_engine: bool) -> list[str]:
        """Returns statements that give columns of a table here the types of the source's columns, and let them take
        NULL if those do. They change nothing else, and can be run twice. `names`: the source's by the target's.

        UnsupportedError if there is no such type here.
        """

    def missing_types(self, types: Sequence[str]) -> list[str]:
        """Returns those of the types (Structure.needs) that do not exist here."""

    def built(self, table: TableName) -> Built:
        """Returns the names of the indexes and constraints that a table has."""

    def run(self, fence: Fence, table: TableName, statements: Sequence[str], parent: TableName | None = None) -> None:
        """Runs statements of a Structure, with these names in place of its placeholders."""

    def clear(self, fence: Fence, table: TableName, *, drop: bool) -> None:
        """Deletes all rows of a table; with `drop`, the table itself unless something else needs it."""

    def make_stages(self, fence: Fence, transfers: Sequence[Transfer]) -> dict[TableName, StageTable]:
        """Creates an empty stage for each source table, after which each attempt's stage is modelled.

        Drops the stages of this mover and of earlier ones, never those of a later one.
        """

    def drop_stages(self, stages: Sequence[StageTable]) -> None:
        """Drops these stages, if they exist."""

    def settle(self, changes: StagedChanges) -> StagedChanges:
        """Leaves one row of each key in a stage, the last one, and none of before a TRUNCATE. Returns the changes that
        are left.

        Does nothing if no key is staged twice. Call it once for each stage, before the first merge from it.
        """

    def merge_beside_others(self) -> None:
        """Prepares this connection to merge while others merge other lanes."""

    def merge(
        self, fence: Fence, merge: Merge, *, with_progress: bool, steps: Sequence[LaneStep] = ()
    ) -> list[RowNotFound]:
        """Applies staged changes, after `settle`, in one transaction; together with the progress if `with_progress`.

        With `steps`, only those lanes: of one that is a share, only its rows. Other lanes may merge at the same time.
        Returns the changes whose rows the target did not have, and stores them. UnreachableError, and nothing is
        applied, if the target is not at the position where the merge starts, or the staged rows no longer exist.
        """

    def record(self, fence: Fence, merge: Merge, *, batch: int | None = None) -> None:
        """Records the progress of a merge on its own. `batch`: its number, if lanes have merged it."""

    def record_lanes(self, fence: Fence, merge: Merge, steps: Sequence[LaneStep]) -> None:
        """Records the progress of lanes on its own."""

    def rows_not_found(self, task: str) -> list[RowNotFound]:
        """Returns what all merges of the task have stored about rows that they did not find."""

    def restored_tables(
        self, fence: Fence, transfers: Sequence[Transfer], chunks: Sequence[Chunk]
    ) -> dict[TableName, str]:
        """Returns the source tables whose target was restored without its progress, and what each target lacks."""

    def mark_altered(self, fence: Fence, transfers: Sequence[Transfer]) -> None:
        """Records that the mover itself has altered these tables, so that they do not count as restored."""

    def unequal_rows(self, fence: Fence, transfer: Transfer, lines: Iterable[bytes]) -> int:
        """Returns how many of these rows of the source have no equal in the target. Changes nothing there.

        Call it only after `make_stages`. The table has a key.
        """

    def has_other_values(self, table: TableName, column: Column, value: str | None, only: Mapping[str, str]) -> bool:
        """Returns whether a row has another value in a column than this SQL says; None: than NULL.

        `only`: looks at rows alone that have these texts in these columns.
        """

    def assign(
        self, fence: Fence, table: TableName, column: Column, value: str | None, only: Mapping[str, str]
    ) -> None:
        """Gives the rows that `has_other_values` finds this value."""

    def mark_altering(self, fence: Fence, table: TableName) -> None:
        """Records that the mover is about to alter a table in a way that changes how its rows are written."""

    def drop_task(self, fence: Fence) -> None:
        """Removes everything that a task has left on the target, except the target tables."""

    def load_problem(self) -> Problem | None:
        """Returns why this user can't measure the server's load, with the fix; None if the user can."""

    def lag_problem(self) -> Problem | None:
        """Returns why this user can't measure the lag of the server's replicas, with the fix; None if the user can."""

    def load(self) -> int:
        """Returns how many statements the server is running, without this one."""

    def replica_lag(self) -> float | None:
        """Returns how many seconds the slowest replica is behind; None if no replica is connected."""

    def finisher(self) -> TargetFinish:
        """Returns what prepares the target for applications, and reads its definitions. The caller closes it."""

    def loader(self) -> Loader:
        """Returns what writes lines on executors. Does not connect."""

    def reconnect(self) -> None:
        """Replaces a connection that may be broken."""

    def close(self) -> None:
        """Closes the connections. Loaders stay usable."""


def key_scan(transfer: Transfer) -> Scan:
    """Returns a scan of the source's key, without an order if the engine's order is not reliable."""
    columns = tuple(_key_column(transfer.source_columns[place]) for place in transfer.key)
    places = tuple(range(len(columns)))
    ordered = all(c.column.order is not None and not c.column.nullable for c in columns)
    return Scan(transfer.source, columns, places, places if ordered else ())


def _key_column(column: Column) -> ScanColumn:
    kind = common_kind(column.type, column.type)
    return ScanColumn(column, kind if isinstance(kind, Kind) else Kind(Form.OPAQUE))


def canonical_keys(transfer: Transfer, keys: Sequence[Key]) -> list[Key]:
    r"""Turns keys of copy_text into canonical text, which differs only for bytes: 0x instead of \x."""
    is_bytes = [transfer.source_columns[place].type.name is TypeName.BINARY for place in transfer.key]
    return [tuple("0x" + t[2:] if b else t for t, b in zip(key, is_bytes, strict=True)) for key in keys]
