"""What a connector offers to those who check a database against itself.

Indexes as the catalog has them; what is wrong in the definitions of objects; some rows and their entries, looked up
without reading all of a table; and the Checker, which has the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.connectors.protocols.paths import (
    EngineCheck,
    NotCheckable,
    OnlyRows,
    Path,
    TablePath,
    ValuePath,
    Violations,
)
from tieout.model.constraints import ConstraintInfo
from tieout.model.failures import FailureKind
from tieout.model.tables import Column, Table, TableName

if TYPE_CHECKING:
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


_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class SchemaFailure:
    """`place` is the part that is wrong if it is no index and no constraint: a column, a sequence, a trigger."""

    kind: FailureKind
    details: Mapping[str, str | None]
    columns: tuple[str, ...] = ()
    index: str | None = None
    constraint: str | None = None
    place: str | None = None

    @property
    def part(self) -> tuple[str | None, str | None, str | None]:
        return self.index, self.constraint, self.place


@dataclass(frozen=True, slots=True)
class StatementError:
    """What an engine says to a statement that it can't carry out. Not `conclusive`: it says nothing of what was asked,
    but that it may not, or has no time."""

    message: str
    conclusive: bool = True


@dataclass
class Inspection:
    """One object whose definition was looked at: a table with all that is its own, a view, a routine.

    `what` it is, if it is no table. `looked_at` counts what was looked at, by nouns in the plural. `left_out` says what
    could not be, `remarks` what is worth telling and not wrong.
    """

    name: TableName
    what: str | None = None
    failures: list[SchemaFailure] = field(default_factory=list)
    looked_at: Counter[str] = field(default_factory=Counter)
    left_out: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def record(self, trouble: StatementError, defect: SchemaFailure) -> None:
        """A defect if the trouble tells of one; it is left out otherwise."""
        if trouble.conclusive:
            self.failures.append(defect)
        else:
            where = defect.index or defect.constraint or defect.place
            self.left_out.append(f"{where}: {trouble.message}" if where else trouble.message)


def statement_errors(
    items: Sequence[_Item], attempt: Callable[[Sequence[_Item]], StatementError | None]
) -> dict[int, StatementError]:
    """Which of the items are not carried out, by their place: all at once if there is no trouble, else by halves."""
    found: dict[int, StatementError] = {}
    waiting = [(0, len(items))] if items else []
    while waiting:
        start, end = waiting.pop()
        trouble = attempt(items[start:end])
        if trouble is None:
            continue
        if end - start == 1:
            found[start] = trouble
        else:
            middle = (start + end) // 2
            waiting += [(start, middle), (middle, end)]
    return found


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


@runtime_checkable
class HoldsMoments(Protocol):
    """A moment that is held keeps the server from clearing away what was changed since: it is never held for long."""

    def release_snapshot(self) -> None:
        """No path that was given by now is read any more. Those that are asked for later are of another moment."""


@contextmanager
def releasing_snapshot(checker: object) -> Iterator[None]:
    """Whatever ends the block."""
    try:
        yield
    finally:
        if isinstance(checker, HoldsMoments):
            checker.release_snapshot()


class Checker(Protocol):
    """A database as one who checks it sees it. `close` gives back its connections."""

    database: str
    other_names: tuple[str, ...]
    """What else statements may call the database, in lower case."""
    engine_check_writes: str | None
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

    def table_path(self, table: Table, columns: Sequence[ScanColumn], *, addressed: bool) -> TablePath | NotCheckable:
        """With addresses if those that it is for have some. NotCheckable if the table itself might not be read."""

    def index_path(self, index: IndexInfo) -> Path | NotCheckable: ...

    def lookup(
        self, table: Table, columns: Sequence[ScanColumn], indexes: Sequence[IndexInfo]
    ) -> Lookup | NotCheckable:
        """For the rows of a table that has a key. NotCheckable if they can't be looked up."""

    def no_lookup_reason(self, index: IndexInfo) -> str | None:
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
    ) -> Violations | NotCheckable:
        """How the rows are found that break them: several of one table that are asked of a row alone, or one other.

        Of `only` some rows, if they are given. NotCheckable if it is not sure that the rows would be read.
        """

    def value_path(self, table: Table, key: Sequence[ScanColumn]) -> ValuePath | NotCheckable:
        """`key` are the columns that rows are called by."""

    def engine_check(self, table: Table, seconds: float) -> EngineCheck:
        """The engine's own checker, to be run after all else, for no longer than that."""

    def inspect(self, names: Collection[TableName] | None) -> Iterable[Inspection]:
        """The definitions of these objects and of the views that read them; None: of all. A name may be gone by now.

        Nothing is run that could change anything, and no table is read through an index that may be wrong.
        """

    def address_text(self, address: Sequence[str | None]) -> str:
        """As the engine writes it."""

    def close(self) -> None: ...
