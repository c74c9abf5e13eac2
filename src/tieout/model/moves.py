"""What a move is: delivery and consistency, its progress, how it ends."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tieout.errors import UsageError
from tieout.model.keys import KeyRange
from tieout.model.positions import Position
from tieout.model.row_changes import Begin
from tieout.model.tables import Column, Table, TableName


class Delivery(StrEnum):
    AT_LEAST_ONCE = "at-least-once"
    AT_MOST_ONCE = "at-most-once"
    EXACTLY_ONCE = "exactly-once"


class Consistency(StrEnum):
    ROW = "row"
    TABLE = "table"
    TRANSACTION = "transaction"


@dataclass(frozen=True, slots=True)
class Held:
    """Which transactions the rows of a chunk contain: all that end before a position.

    With a snapshot (PostgreSQL's xmin:xmax:xip,…) only those that it saw: a transaction may become visible later than
    one that follows it in the log. Up to `settled` the rows may contain more of the log: they are consistent only
    once the log is applied up to there.
    """

    position: Position
    snapshot: str | None = None
    settled: Position | None = None

    def holds(self, transaction: Begin) -> bool:
        if transaction.position.reaches(self.position):
            return False
        return self.snapshot is None or is_visible(int(transaction.transaction), self.snapshot)


def is_visible(xid: int, snapshot: str) -> bool:
    """Whether a committed transaction is visible in a snapshot. The log has 32 of an xid's 64 bits."""
    low, high, running = snapshot.split(":")
    xmin, xmax = int(low), int(high)
    epoch = xmax >> 32 << 32
    full = min((epoch + xid + turn for turn in (-(1 << 32), 0, 1 << 32)), key=lambda candidate: abs(candidate - xmax))
    if full < xmin:
        return True
    return full < xmax and str(full) not in running.split(",")


@dataclass(frozen=True, slots=True)
class Fence:
    """A mover's right to write for a task: it ends when a later one takes a higher epoch."""

    task: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Lane:
    """Rows of the target that one connection merges in the order of the log, without waiting for the rows of others.

    They are whole tables, or the share number `share` of `shares` of the rows of these tables, by a hash of their key.
    """

    tables: tuple[str, ...]
    share: int | None = None
    shares: int = 1

    @property
    def name(self) -> str:
        return self.tables[0] if self.share is None else f"share {self.share + 1} of {self.shares}"


@dataclass(frozen=True, slots=True)
class LaneProgress:
    """A lane that has merged more of the log than the task as a whole, up to the batch with this number."""

    lane: Lane
    applied: Position
    batch: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """A key range that is copied as a unit. `held` None: not copied yet."""

    table: TableName
    ordinal: int
    keys: KeyRange
    held: Held | None = None
    rows: int = 0


@dataclass(frozen=True, slots=True)
class StoppedTable:
    """A table of the source whose changes are no longer applied, and why. `target` None: unknown."""

    source: str
    target: str | None
    reason: str
    chunks: tuple[Chunk, ...] = ()


@dataclass(frozen=True, slots=True)
class Version:
    """The last transaction of the source that changed a table of the target; `at` is microseconds since 1970."""

    transaction: str
    at: int


JOINING = "+joining"


def joining_task(task: str) -> str:
    """The name of the task that tables have which join this one, until they have joined."""
    return f"{task}{JOINING}"


SCHEMA_NAME, TABLE_NAME = "_schema", "_table"
"""The names for the schema and the name of the source's table in expressions: they distinguish merged tables."""

OWN_COLUMN = "_tieout_"
"""The beginning of the names of the columns that carry rows through Spark, beside those that expressions name."""


class WrongForTypes(UsageError):
    """An expression that the types of a table's columns do not allow: they may have been others when it was written."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A transform, in Spark SQL over the source's columns, SCHEMA_NAME and TABLE_NAME.

    `reads` are the columns to read, and `key` the indexes of the source's key among them. `cells` has for each column
    of the target the index of what is read for it, or an expression. `uses` are the columns that expressions name, with
    their indexes. `shared`: rows of other tables may be in the target, because an expression names the source's table,
    or a computed column is in the target's key.
    """

    reads: tuple[tuple[Column, Column], ...]
    key: tuple[int, ...]
    cells: tuple[int | str, ...]
    uses: tuple[tuple[str, int], ...]
    where: str | None = None
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Transfer:
    """From which columns of a source table to which of the target, in order, and the indexes of the key among them.

    Without a key, rows are a multiset. With a transform, the columns of the source are its results.
    """

    source: Table
    target: Table
    columns: tuple[tuple[Column, Column], ...]
    key: tuple[int, ...] = ()
    shape: Shape | None = None
    takes_more: bool = True
    """Move columns that the source gets later, too."""
    typed: frozenset[str] = frozenset()
    """The source's columns whose type is known for the point to which the log was applied."""
    widened_at: Position | None = None
    """Where the last statement is that changed types, and that is followed already."""

    @property
    def reads(self) -> Transfer:
        """The transfer of what is read, without the transform."""
        if self.shape is None:
            return self
        return Transfer(self.source, self.target, self.shape.reads, self.shape.key)

    @property
    def source_columns(self) -> tuple[Column, ...]:
        return tuple(source for source, _ in self.columns)

    @property
    def target_columns(self) -> tuple[Column, ...]:
        return tuple(target for _, target in self.columns)


CAUGHT_UP = "caught up"
STOPPED_IN_PART = "stopped in part"
"""It has caught up with some of its tables, and stopped others."""
STOPPED = "stopped"
FAILED = "failed"
INTERRUPTED = "interrupted"
"""Its process is gone, and left no reason."""

ENDED = frozenset({CAUGHT_UP, STOPPED_IN_PART, STOPPED, FAILED})
"""The states of a mover that ended in order."""
