"""What a connector offers to those who check a database against itself.

An index's entries are read by two paths: through the table, where they are what the index should hold, and through the
index itself. Each says how it is known to have taken that path.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

from tieout.connectors.base import ScanColumn
from tieout.connectors.inspecting import Inspection
from tieout.connectors.value_checking import OwnCheck, ValuePath
from tieout.connectors.violations import OnlyRows, Violations
from tieout.model.constraints import ConstraintInfo
from tieout.model.tables import Table, TableName

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class IndexColumn:
    """`name` is for people: the column's, or the expression's text. `included`: stored, and no part of the key."""

    name: str
    read: ScanColumn
    included: bool = False
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """An index as the catalog has it. `where` is the condition of a partial one, in the engine's SQL.

    `unchecked` is why it can't be checked, if it can't.
    """

    name: str
    table: Table
    columns: tuple[IndexColumn, ...]
    unique: bool = False
    primary: bool = False
    where: str | None = None
    definition: str = ""
    unchecked: str | None = None


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
        """After another look."""


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


class Checker(Protocol):
    """A database as one who checks it sees it. `close` gives back its connections."""

    database: str
    own_check_marks: str | None
    """That the engine's own checker marks what it finds, and so writes, if it does: it is to be asked for then."""

    def all_tables(self) -> list[TableName]:
        """Those of every schema but the engine's own."""

    def tables(self, schema: str | None = None) -> list[TableName]:
        """Those of a schema, or of the default one."""

    def leaves(self, names: Sequence[TableName]) -> list[TableName]:
        """The tables that hold the rows of these: partitions stand for a table that has some."""

    def describe(self, names: Sequence[TableName]) -> list[Table]: ...

    def default_schema(self) -> str: ...

    def indexes(self, table: Table) -> list[IndexInfo]: ...

    def table_path(self, table: Table, columns: Sequence[ScanColumn], *, addressed: bool) -> TablePath | Unreadable:
        """With addresses if those that it is for have some. Unreadable if the table itself might not be read."""

    def index_path(self, index: IndexInfo) -> Path | Unreadable: ...

    def constraints(self, table: Table) -> list[ConstraintInfo]:
        """All that the catalog has: unique indexes that are no constraint, too."""

    def violations(
        self, constraints: Sequence[ConstraintInfo], only: OnlyRows | None = None
    ) -> Violations | Unreadable:
        """How the rows are found that break them: several of one table that are asked of a row alone, or one other.

        Of `only` some rows, if they are given. Unreadable if it is not sure that the rows would be read.
        """

    def value_path(self, table: Table, key: Sequence[ScanColumn]) -> ValuePath | Unreadable:
        """`key` are the columns that rows are called by."""

    def own_check(self, table: Table, seconds: float) -> OwnCheck:
        """The engine's own checker, to be run after all else, for no longer than that."""

    def inspect(self, names: Collection[TableName] | None) -> Iterable[Inspection]:
        """The definitions of these objects and of the views that read them; None: of all. A name may be gone by now.

        Nothing is run that could change anything, and no table is read through an index that may be wrong.
        """

    def address_text(self, address: Sequence[str | None]) -> str:
        """As the engine writes it."""

    def close(self) -> None: ...
