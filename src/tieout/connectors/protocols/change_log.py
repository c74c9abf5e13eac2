"""Reading an endpoint's change log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tieout.model.positions import Position
from tieout.model.row_changes import LogItem
from tieout.model.tables import TableName


@dataclass(frozen=True, slots=True)
class LogLag:
    """`behind`: bytes of the log after a position. `kept`: bytes that the source retains only for us; None: nothing."""

    behind: int
    kept: int | None = None


@dataclass(frozen=True, slots=True)
class Retyped:
    """Columns of a table that have another type now, according to the catalog.

    `rewritten`: the server may have written the rows again, with other values. `state` is how the source keeps what
    the table is like now. `replaced`: names that are other columns by now, whatever their types.
    """

    columns: tuple[str, ...]
    rewritten: bool
    state: str
    replaced: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LogCoverage:
    """What happened to tables without a trace in the log.

    `reasons`: why some tables can't be followed any more, unless a change of types is harmless: those are in `retyped`,
    too. `remarks`: what users should know about others.
    """

    reasons: dict[TableName, str] = field(default_factory=dict)
    retyped: dict[TableName, Retyped] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


class ChangeLog(Protocol):
    """The change log of one endpoint. Runs on executors: picklable, does not import Spark, opens its own connections.

    A position names the log that it belongs to. Every method raises UnreachableError if the server now has another log
    than a position's; only `resume` finds out whether the new log continues the old one.
    """

    def now(self) -> Position:
        """Returns the end of the log: everything committed before this call lies before it."""

    def resume(self, after: Position, held: Sequence[Position] = ()) -> Position:
        """Returns the position after the same transactions in the log that the server has now.

        The server may be another one by now, or a copy. `held`: positions of chunks that must lie in this log too,
        unless `after` has passed them. LogLostError unless it is proven that the log continues there.
        """

    def ends(self, after: Position, most_bytes: int, most: int) -> list[Position]:
        """Returns up to `most` ends of transactions after `after`, in order, about `most_bytes` apart.

        Empty: nothing new. Never divides a transaction, however large it is.
        """

    def read(self, after: Position, upto: Position, tables: frozenset[TableName]) -> Iterator[LogItem]:
        """Yields the transactions that end after `after` and not after `upto`, in commit order, then Reached.

        Yields only rows of these tables, each between the Begin and the Commit of its transaction. Must not collect
        them: a transaction may be larger than memory.
        """

    def lag(self, applied: Position) -> LogLag:
        """Returns how far the log continues after a position, at this moment."""

    def coverage(self, tables: Sequence[TableName]) -> LogCoverage:
        """Returns what happened to these tables since logging started, as far as the log itself does not show it."""

    def confirm(self, position: Position) -> None:
        """Lets the source discard what lies before the position, if it retains its log for us."""
