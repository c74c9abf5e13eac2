"""Checking a database against itself.

The Checker lists indexes and constraints, inspects definitions, and returns what reads rows and entries on executors:
paths through whole tables (`paths`), and a Lookup for some rows and their entries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

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
    """A column or expression of an index; `name` is its text for users. `included`: stored, but not part of the key."""

    name: str
    read: ScanColumn
    included: bool = False
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """An index from the catalog. `where` is the condition of a partial index, in the engine's SQL.

    `shortened`: columns of which the index holds only a prefix, with its length; `columns` does not have these.
    `unchecked`: why Tieout can't check the index; None if it can.
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
    """A failure in a definition. `place`: the wrong part, unless it is an index or constraint: a column, a trigger."""

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
    """The error that a statement ended with. Not `conclusive`: it does not show that the definition is wrong, only that
    this user lacks a privilege or that the time was up.
    """

    message: str
    conclusive: bool = True


@dataclass
class Inspection:
    """The inspection of one object's definition: a table with its columns, indexes and triggers, a view, a routine.

    `what`: the kind of object; None for a table.
    `looked_at`: counts of what was inspected, by plural nouns.
    `left_out`: what could not be inspected, and why.
    `remarks`: what users should know although it is not wrong.
    """

    name: TableName
    what: str | None = None
    failures: list[SchemaFailure] = field(default_factory=list)
    looked_at: Counter[str] = field(default_factory=Counter)
    left_out: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def record(self, error: StatementError, failure: SchemaFailure) -> None:
        """Records the failure if the error is conclusive; otherwise records that this part was left out."""
        if error.conclusive:
            self.failures.append(failure)
        else:
            where = failure.index or failure.constraint or failure.place
            self.left_out.append(f"{where}: {error.message}" if where else error.message)


def statement_errors(
    items: Sequence[_Item], attempt: Callable[[Sequence[_Item]], StatementError | None]
) -> dict[int, StatementError]:
    """Returns the errors of those items that fail, by place. Tries all at once, and halves a group that fails."""
    found: dict[int, StatementError] = {}
    waiting = [(0, len(items))] if items else []
    while waiting:
        start, end = waiting.pop()
        error = attempt(items[start:end])
        if error is None:
            continue
        if end - start == 1:
            found[start] = error
        else:
            middle = (start + end) // 2
            waiting += [(start, middle), (middle, end)]
    return found


Literals = tuple[str, ...]
"""Values as literals of the engine's SQL."""


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """A changed row and its key.

    `before`: earlier values that may have left index entries behind, as literals by column.
    `there`: according to the log, the row should exist.
    """

    key: Literals
    before: tuple[Mapping[str, str], ...] = ()
    there: bool = True


@dataclass(frozen=True)
class FoundEntries:
    """Entries: columns of the address, then those of the index. `read`: how many entries were read to find them."""

    batch: pa.RecordBatch
    read: int


class Lookup(Protocol):
    """Finds rows by key, and index entries by the values they were made from. Runs on executors: picklable.

    A batch of rows has the columns of `address`, then those of `columns`, then a text: a hint for `entries`.
    `keyed_by_index`: the engine finds a row by its key through an index, which may be damaged and miss it.
    `sees_dangling`: `entries` also finds entries that lead to no row.
    `old_values_hint`: what a user can do if the log does not have the old values of rows.
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
    def old_values_hint(self) -> str: ...

    def rows(self, keys: Sequence[Literals]) -> Iterator[pa.RecordBatch]:
        """Yields the rows with these keys, read from the table itself."""

    def all_rows(self, keys: Sequence[Literals]) -> Iterator[pa.RecordBatch]:
        """Yields the same as `rows` without using any index: reads the whole table."""

    def rows_at(self, addresses: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yields the rows at these addresses, as `rows` does. Called only if `keyed_by_index`."""

    def entries(self, number: int, rows: Sequence[ChangedRow], hints: Sequence[str]) -> Iterator[FoundEntries]:
        """Yields what the index with this number holds for the current and the earlier values of rows.

        `hints` are the last columns of the rows read before. An entry may come several times. Correct entries of other
        rows may be left out. UnsupportedError if the engine did not read this index.
        """


@contextmanager
def releasing_snapshot(checker: Checker) -> Iterator[None]:
    """Releases the checker's snapshot when the block ends, however it ends."""
    try:
        yield
    finally:
        checker.release_snapshot()


class Checker(Protocol):
    """Checks one database. Lives on the driver. Changes nothing, and waits for no lock for long.

    What it returns for executors (paths, lookups, violations) is picklable. NotCheckable, with the reason, instead of
    a path means that the engine might not read what the check is about.
    """

    database: str
    other_names: tuple[str, ...]
    """Other names by which statements may call the database, in lower case."""
    engine_check_writes: str | None
    """Why the engine's own checker runs only on request, if it marks what it finds and so writes; otherwise None."""

    def all_tables(self) -> list[TableName]:
        """Returns the tables of every schema except the engine's own schemas."""

    def tables(self, schema: str | None = None) -> list[TableName]:
        """Returns the tables of a schema; None: of the default schema."""

    def leaves(self, names: Sequence[TableName]) -> list[TableName]:
        """Returns the tables that store the rows: a partitioned table's partitions instead of the table."""

    def describe(self, names: Sequence[TableName]) -> list[Table]:
        """Returns the tables' descriptions in the same order. MissingObjectError if one does not exist."""

    def default_schema(self) -> str:
        """Returns the schema of names that are written without one."""

    def indexes(self, table: Table) -> list[IndexInfo]:
        """Returns all indexes of the table, including those that can't be checked (`IndexInfo.unchecked`)."""

    def table_path(self, table: Table, columns: Sequence[ScanColumn], *, addressed: bool) -> TablePath | NotCheckable:
        """Returns the path through the table itself. `addressed`: with addresses, to compare with addressed entries."""

    def index_path(self, index: IndexInfo) -> Path | NotCheckable:
        """Returns the path through the index."""

    def lookup(
        self, table: Table, columns: Sequence[ScanColumn], indexes: Sequence[IndexInfo]
    ) -> Lookup | NotCheckable:
        """Returns what looks up rows of a table with a key, and their entries in these indexes."""

    def no_lookup_reason(self, index: IndexInfo) -> str | None:
        """Returns why entries of the index can't be looked up although all of it can be read; None if they can."""

    def addresses_are_keys(self, table: Table) -> bool:
        """Returns whether index entries of the table lead to rows by the table's key."""

    def literal(self, column: Column, value: object) -> str | None:
        """Returns SQL that finds a value of the change log; None if no literal does."""

    def canonical(self, column: Column, value: object) -> str | None:
        """Returns the canonical text of a value of the change log; None is NULL."""

    def literal_of(self, column: ScanColumn, text: str | None) -> str | None:
        """Returns SQL that finds a value by its canonical text; None if it might not find it."""

    def constraints(self, table: Table) -> list[ConstraintInfo]:
        """Returns all constraints of the catalog, and unique indexes that belong to no constraint."""

    def violations(
        self, constraints: Sequence[ConstraintInfo], only: OnlyRows | None = None
    ) -> Violations | NotCheckable:
        """Returns how to find the rows that violate these constraints.

        Either several constraints of one table that each row can be tested for alone, or one other constraint. `only`:
        tests some rows instead of all.
        """

    def value_path(self, table: Table, key: Sequence[ScanColumn]) -> ValuePath | NotCheckable:
        """Returns the path that tests values against rules. `key`: the columns that identify rows in failures."""

    def engine_check(self, table: Table, seconds: float) -> EngineCheck:
        """Runs the engine's own checker on the driver, after all other checks, for at most this long."""

    def inspect(self, names: Collection[TableName] | None) -> Iterable[Inspection]:
        """Inspects the definitions of these objects and of the views that read them; None: of all objects.

        Skips names that no longer exist. Must run nothing that could change anything, and must not read a table
        through an index that may be wrong.
        """

    def address_text(self, address: Sequence[str | None]) -> str:
        """Returns a row address as the engine writes it."""

    def release_snapshot(self) -> None:
        """Ends the snapshot that the paths read, if there is one: it keeps the server from removing old row versions.

        The caller has stopped reading earlier paths; later paths read another snapshot.
        """

    def close(self) -> None:
        """Closes the connections."""
