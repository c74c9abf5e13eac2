"""How what an index holds is read.

Its entries are read by two paths: through the table, where they are what the index should hold, and through the index
itself. Each says how it is known to have taken that path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

from tieout.connectors.protocols.endpoint import ScanColumn

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa


class Path(Protocol):
    """A way to read, on executors: picklable. A batch has columns for `address`, then for `columns`.

    An address leads from an entry to its row. Without one, rows and entries are compared as multisets.
    """

    @property
    def address(self) -> tuple[ScanColumn, ...]: ...

    @property
    def columns(self) -> tuple[ScanColumn, ...]: ...

    @property
    def evidence(self) -> str: ...

    @property
    def extent(self) -> Any:
        """What `parts` are cut by, as JSON."""

    def cut_as(self, extent: Any) -> Self:
        """The same, cut as it was when that was its extent."""

    def parts(self, most: int) -> Sequence[Any]:
        """Up to so many, of about the same size, that are all of it; picklable."""

    def read(self, part: Any) -> Iterator[pa.RecordBatch]:
        """May raise StartOver, even after batches were handed out."""

    def cautious(self) -> Self:
        """The same, that never raises StartOver."""

    def unseen(self, entries: int) -> str | None:
        """Why there may be more than the entries that were read, of which there were so many; None if not."""


Values = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Disorder:
    """Two neighbours in an index, of which the second should be before the first; by their columns' canonical text.

    `place` is where they are, in the engine's own words, `page` the number of the first one's, if there are pages.
    """

    first: Values
    second: Values
    place: str = field(compare=False)
    page: int = field(default=0, compare=False)


@runtime_checkable
class Ordered(Protocol):
    """A path that can tell in which order entries are."""

    def order_parts(self, most: int) -> Sequence[Any]:
        """Up to so many that are all of it."""

    def order_of(self, part: Any) -> Any:
        """What it takes to know of one part; picklable."""

    def disorders(self, parts: Sequence[Any]) -> list[Disorder]:
        """What seems wrong in all parts together."""

    def still_wrong(self, suspects: Sequence[Disorder]) -> list[Disorder]:
        """What is wrong at another look, at least where these were."""


@dataclass(frozen=True, slots=True)
class Unfound:
    """A row that an index does not lead to: its address, and the beginnings of columns that it should be found by."""

    address: Values
    beginnings: Values


@dataclass(frozen=True, slots=True)
class UnfoundRows:
    """`cut`: there may be more."""

    rows: tuple[Unfound, ...]
    cut: bool


@runtime_checkable
class Sought(Protocol):
    """A path that does not show all that its entries hold: rows are looked up by the rest."""

    def unfound(self, most: int) -> UnfoundRows:
        """Up to so many of the rows, of one moment, that are not found by what they are. On executors."""


@runtime_checkable
class AtMoments(Protocol):
    """A path of an engine that can show several reads one moment. `freezes`: if it does for this table."""

    @property
    def freezes(self) -> bool: ...

    def frozen(self) -> AbstractContextManager[Callable[[Any], Any]]:
        """In the block, what makes of a path of this table the same path at that moment. On executors."""


@runtime_checkable
class Follows(Protocol):
    """A path without addresses that can still tell where entries lead."""

    def follow(self, values: Sequence[str | None], columns: Sequence[ScanColumn]) -> pa.Table | None:
        """The rows that entries of these values lead to: the address, then the columns. None if it can't be told."""


class Versions(Protocol):
    """What entries may point to beside the rows that a reader sees. Of engines whose addresses are numbers."""

    def entry_addresses(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """What entries have for the rows at these addresses."""

    def invisible(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Addresses that entries may have, and that are none of these rows'."""


class TablePath(Path, Protocol):
    """The path through the table: what its indexes should hold, for several of them at once.

    A condition is a column, too: an expression of type BOOLEAN. `has_versions`: entries may have another address for a
    row than it has.
    """

    @property
    def has_versions(self) -> bool: ...

    def versions(self, part: Any) -> Versions | None:
        """None if a reader sees all that an entry may point to."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An index that no path leads through, or a constraint that rows can't be asked, and why."""

    reason: str
