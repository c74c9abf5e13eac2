"""Some rows of a table, and what its indexes have for them, without reading all of either."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from tieout.connectors.protocols.endpoint import ScanColumn

if TYPE_CHECKING:
    import pyarrow as pa

Literals = tuple[str, ...]
"""Values as the engine's SQL."""


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """A row by its key. `before` is what it was, as far as that may have left entries behind: literals by column.

    `there`: it should exist, as far as the log tells.
    """

    key: Literals
    before: tuple[Mapping[str, str], ...] = ()
    there: bool = True


@dataclass(frozen=True)
class FoundEntries:
    """Entries, with columns for the address and for the index's; and how many were `read` to find them."""

    batch: pa.RecordBatch
    read: int


class Lookup(Protocol):
    """Rows of a table by their keys, and entries by what they may have been made of. Picklable, for executors.

    A batch of rows has columns for `address`, then for `columns`, then a text that `entries` wants to know of a row.
    `keyed_by_index`: an index leads to a row of a given key, and so may not. `sees_dangling`: an entry is found even if
    it leads to no row. `old_values` is what to do if the log does not tell what rows were.
    """

    @property
    def address(self) -> tuple[ScanColumn, ...]: ...

    @property
    def columns(self) -> tuple[ScanColumn, ...]: ...

    @property
    def keyed_by_index(self) -> bool: ...

    @property
    def sees_dangling(self) -> bool: ...

    @property
    def old_values(self) -> str: ...

    def rows(self, keys: Sequence[Literals]) -> Iterator[pa.RecordBatch]:
        """The rows with these keys, read from the table itself."""

    def all_rows(self, keys: Sequence[Literals]) -> Iterator[pa.RecordBatch]:
        """The same as `rows`, without the help of any index: reads all of the table."""

    def entries(self, number: int, rows: Sequence[ChangedRow], told: Sequence[str]) -> Iterator[FoundEntries]:
        """What the index of this number has for what rows are (by their keys, or by what was `told` of them) and were.

        An entry may come several times; one of another row, that is as it should be, need not come. UnsupportedError if
        it was not read from this index.
        """


@runtime_checkable
class AtAddresses(Protocol):
    """A lookup of a table whose entries may lead to rows by something else than their keys."""

    def rows_at(self, addresses: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """As `rows`; only asked for if rows are keyed by an index."""
