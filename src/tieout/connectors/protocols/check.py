"""What a connector offers to those who check a database against itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from tieout.connectors.index_info import IndexInfo
from tieout.connectors.inspecting import Inspection
from tieout.connectors.lookups import Lookup
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.connectors.protocols.paths import Path, TablePath, Unreadable
from tieout.connectors.value_checking import OwnCheck, ValuePath
from tieout.connectors.violations import OnlyRows, Violations
from tieout.model.constraints import ConstraintInfo
from tieout.model.tables import Column, Table, TableName


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
