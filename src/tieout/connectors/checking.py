"""What a connector offers to those who check a database against itself.

An index's entries are read by two paths: through the table, where they are what the index should hold, and through the
index itself. Each says how it is known to have taken that path.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

from tieout.connectors.base import ScanColumn
from tieout.connectors.inspecting import Inspection
from tieout.connectors.value_checking import OwnCheck, ValuePath
from tieout.connectors.violations import OnlyRows, Violations
from tieout.model.constraints import ConstraintInfo
from tieout.model.tables import Column, Table, TableName

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

    `shortened` are columns of which it has only the beginning, and how much: none of `columns`. `unchecked` is why it
    can't be checked, if it can't.
    """

    name: str
    table: Table
    columns: tuple[IndexColumn, ...]
    unique: bool = False
    primary: bool = False
    where: str | None = None
    definition: str = ""
    unchecked: str | None = None
    shortened: tuple[tuple[str, int], ...] = ()

    @property
    def column_names(self) -> tuple[str, ...]:
        return (*(column.name for column in self.columns), *(name for name, _ in self.shortened))


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

    def rows_at(self, addresses: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Those at these addresses; only asked for if an address is one column."""

    def all_rows(self, keys: Sequence[Literals]) -> Iterator[pa.RecordBatch]:
        """The same as `rows`, without the help of any index: reads all of the table."""

    def entries(self, number: int, rows: Sequence[ChangedRow], told: Sequence[str]) -> Iterator[FoundEntries]:
        """What the index of this number has for what rows are (by their keys, or by what was `told` of them) and were.

        An entry may come several times; one of another row, that is as it should be, need not come. UnsupportedError if
        it was not read from this index.
        """


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

    def lookup(self, table: Table, columns: Sequence[ScanColumn], indexes: Sequence[IndexInfo]) -> Lookup | Unreadable:
        """For the rows of a table that has a key. Unreadable if they can't be looked up."""

    def unprobed(self, index: IndexInfo) -> str | None:
        """Why entries of the index can't be looked up, though all of it can be read; None if they can."""

    def addresses_are_keys(self, table: Table) -> bool:
        """Whether an entry leads to its row by the table's key."""

    def literal(self, column: Column, value: object) -> str | None:
        """A value of the change log as SQL that finds it; None if there is none."""

    def canonical(self, column: Column, value: object) -> str | None:
        """A value of the change log as canonical text."""

    def literal_of(self, column: ScanColumn, text: str | None) -> str | None:
        """Canonical text as SQL that finds the value; None if it might not."""

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
