"""What a connector offers whose endpoint keeps a log of changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tieout.model.positions import Position
from tieout.model.row_changes import LogItem
from tieout.model.tables import TableName


@dataclass(frozen=True, slots=True)
class LogLag:
    """Bytes of the log behind a position, and how much of it the source keeps for us alone (None: nothing)."""

    behind: int
    kept: int | None = None


@dataclass(frozen=True, slots=True)
class LogCoverage:
    """What became of tables that the log does not tell: why some can't be followed, and what to know of others."""

    reasons: dict[TableName, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


class ChangeLog(Protocol):
    """The change log of one endpoint. Runs on executors: picklable, knows nothing of Spark, opens its own connections.

    Positions tell which log they are of. UnreachableError if the server has another log than that of a position:
    `resume` finds out whether it goes on.
    """

    def now(self) -> Position:
        """The end of the log: whatever was committed before this call lies before it."""

    def resume(self, after: Position, held: Sequence[Position] = ()) -> Position:
        """The place behind the same transactions, in the log that the server has now: it may be another server by now,

        or a copy of it. `held`: places of chunks that must lie in this log, too, if `after` has not passed them.
        LogLostError unless it is proven that the log goes on there.
        """

    def ends(self, after: Position, most_bytes: int, most: int) -> list[Position]:
        """Up to `most` ends of transactions behind `after`, in order, each about so many bytes behind the last.

        Empty: there is nothing new. A transaction is never cut, however large it is.
        """

    def read(self, after: Position, upto: Position, tables: frozenset[TableName]) -> Iterator[LogItem]:
        """The transactions that end behind `after` and not behind `upto`, in the order of their commits; then Reached.

        Only rows of these tables; what belongs to a transaction stands between its Begin and its Commit.
        Nothing is collected: a transaction may be larger than memory.
        """

    def lag(self, applied: Position) -> LogLag:
        """How far the log goes behind a position, at this moment."""

    def coverage(self, tables: Sequence[TableName]) -> LogCoverage:
        """What became of these tables since their log was begun, as far as reading it would not tell."""

    def confirm(self, position: Position) -> None:
        """Lets the source forget what lies before the position, if it keeps its log for us."""
