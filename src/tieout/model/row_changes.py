"""Changes of rows, as a change log has them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, Final

from tieout.model.positions import Position
from tieout.model.tables import Column, TableName


class ChangeKind(IntEnum):
    INSERT = 1
    UPDATE = 2
    DELETE = 3


class _Kept:
    """Marks a column that the log left out of a row's image: it has the value that it had before."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "KEPT"

    def __reduce__(self) -> str:
        return "KEPT"


KEPT: Final = _Kept()

Image = tuple[Any, ...]
"""A row's values in the order of its LogTable's columns: int, float, str, bytes, None for NULL, or KEPT."""


@dataclass(frozen=True, slots=True)
class LogTable:
    """A table as its log described it when the changes were made."""

    name: TableName
    columns: tuple[str, ...]


@dataclass(slots=True)
class Rows:
    """Changes of one table and one kind, in order: new images, for a DELETE the old ones.

    `before` are the old images of an UPDATE, one for each of `rows`; None if the log has none: the key did
    not change then. An old image may hold KEPT for columns that are not part of the key. `whole`: `rows` hold no
    KEPT; if it is not set, they may or may not.
    """

    table: LogTable
    kind: ChangeKind
    rows: list[Image]
    before: list[Image | None] | None = None
    whole: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Emptied:
    """TRUNCATE of a table."""

    table: TableName


@dataclass(frozen=True, slots=True)
class Redefined:
    """What a statement did to a table's definition.

    `added` are columns with the default that existing rows got; `changed` those that may have other values now.
    `unindexed`: indexes that are gone. `reason` is why its rows can no longer be trusted. `stated`: how it defines
    columns that it adds or changes, as far as that is understood; one without a charset has the table's.
    """

    table: TableName
    added: tuple[tuple[str, str | None], ...] = ()
    dropped: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unindexed: tuple[str, ...] = ()
    reason: str | None = None
    stated: tuple[Column, ...] = ()

    def of(self, table: TableName) -> Redefined:
        return replace(self, table=table)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that does not change rows, as text: DDL. `schema` is the one it ran in.

    `redefined`: which of the requested tables it changes.
    """

    schema: str
    text: str
    redefined: tuple[Redefined, ...] = ()


@dataclass(frozen=True, slots=True)
class Begin:
    """The start of a transaction: `position` lies before its end, and not before the end of those before it.

    `late`: its changes may have become visible some time after that position (XA), so it is unknown which later
    snapshots contain them. `repeats`: the log may have had its changes before, so it is unknown which rows they find.
    """

    position: Position
    transaction: str
    late: bool = False
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class Commit:
    """The end of the transaction that all items since its Begin belong to.

    `position` is just after it. `transaction` is its name in the source (a GTID, an xid), `at` microseconds since 1970.
    """

    position: Position
    transaction: str
    at: int


@dataclass(frozen=True, slots=True)
class Reached:
    """The end of what was requested. `position` is that end, with its proofs (Position)."""

    position: Position


LogItem = Begin | Rows | Emptied | Statement | Commit | Reached
