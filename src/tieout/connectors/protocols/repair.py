"""Writing to a database for repairs.

A Writer changes rows, given as canonical text, on one connection. A Repairer can also rebuild indexes, advance
sequences and suspend constraints: what the repair of a check's failures needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from tieout.connectors.protocols.endpoint import Scan
from tieout.connectors.sql.dialect import Dialect
from tieout.connectors.sql.internal_tables import QUARANTINE
from tieout.model.canonical_kinds import Kind
from tieout.model.keys import Key
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import LogicalType, TypeName

Row = Mapping[str, str | None]
"""Values by column, as canonical text; None is NULL."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A foreign key: `columns` of the table `child` refer to the columns `to` of another table."""

    name: str
    child: TableName
    columns: tuple[str, ...]
    to: tuple[str, ...]
    on_delete: str

    @property
    def loses(self) -> bool:
        """Whether a DELETE of the referenced row would silently change or delete rows of the child."""
        return self.on_delete.upper() not in ("NO ACTION", "RESTRICT")


class Refused(Exception):
    """The engine refused a statement, or no literal can express a value. Earlier statements stay in effect.

    `collides`: another row has the same unique value.
    """

    def __init__(self, message: str, *, collides: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.collides = collides


class TryAgain(Exception):
    """The transaction gave way to another one. After a rollback, the caller may run it again."""


class Statements(Protocol):
    """Writes the change of one row as one SQL statement. Works on the driver, without a connection.

    Never writes generated columns. No text can break out of its literal. Raises Refused for a value that no literal
    can express.
    """

    @property
    def opening(self) -> Sequence[str]:
        """The first statements of an SQL file: they give the session the settings that the rest relies on."""

    @property
    def begin(self) -> Sequence[str]:
        """The statements that start a transaction of the file."""

    @property
    def between_tables(self) -> Sequence[str]:
        """The statements between the deletes of two tables in a file; none if one transaction can delete from both."""

    @property
    def closing(self) -> Sequence[str]:
        """The last statements of a file: they restore the session's settings."""

    def insert(self, table: Table, row: Row) -> str:
        """Returns an INSERT of one row."""

    def update(self, table: Table, key: Row, row: Row) -> str:
        """Returns an UPDATE that gives the row with this key the values of `row`."""

    def delete(self, table: Table, key: Row, unless: Sequence[Reference] = ()) -> str:
        """Returns a DELETE that deletes nothing if a row refers to this one by one of the foreign keys `unless`."""


class Writer(Protocol):
    """Changes rows on one connection, in transactions. Lives on the driver; two threads must not share one."""

    statements: Statements

    def exact(self, column: Column) -> Kind:
        """Returns the form that preserves a value exactly when it is read and written: spelling, scale and order."""

    def references(self, table: Table) -> Sequence[Reference]:
        """Returns the foreign keys that refer to the table."""

    def rows(self, scan: Scan, keys: Sequence[Key], *, lock: bool) -> Iterator[pa.RecordBatch]:
        """Yields the rows with these keys, as Reader.lookup does. `lock`: locks them until the transaction ends."""

    def begin(self, *, deferred: bool = False) -> None:
        """Starts a transaction. `deferred`: checks constraints at its end, where the engine can."""

    def execute(self, statement: str) -> int:
        """Runs a statement and returns the number of changed rows.

        Raises Refused and leaves the transaction as it was before, or raises TryAgain or an EndpointError.
        """

    def commit(self) -> None:
        """Commits. Raises Refused if the engine rolled back instead."""

    def rollback(self) -> None:
        """Rolls back. Never raises: a lost connection has rolled back."""

    def close(self) -> None:
        """Closes the connection."""


@dataclass(frozen=True, slots=True)
class Parent:
    """The table that a foreign key refers to. `columns` are columns of the child, `to` those of the parent."""

    table: TableName
    columns: tuple[str, ...]
    to: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trigger:
    """A trigger for one `event`: INSERT, UPDATE or DELETE. A trigger for several events is listed once for each."""

    name: str
    event: str


@dataclass(frozen=True, slots=True)
class Suspension:
    """Statements to run before and after a row that violates a constraint. `note`: what users must know then."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    note: str | None = None


class Repairer(Writer, Protocol):
    """Repairs what a check found, and undoes such repairs. Lives on the driver.

    Opened with `enforce_constraints`, the engine checks constraints on every row that it writes. Opened without, to
    undo a repair, it can write back a row that violates them.
    """

    rewrite_events: Sequence[str]
    """The trigger events that `rewrite_statements` causes."""

    def triggers(self, table: Table) -> Sequence[Trigger]:
        """Returns the users' triggers that a change of a row can fire in this session."""

    def address_column(self, table: Table) -> Column | None:
        """Returns a column that stands for the row address, as failures show it; None if rows have no address."""

    def columns_from_address(self, table: Table, place: str) -> Row:
        """Returns the columns whose values follow from a row's address."""

    def is_transactional(self, table: Table) -> bool:
        """Returns whether a rollback undoes changes of the table."""

    def no_index_hint(self, table: Table) -> str | None:
        """Returns SQL to put behind the table's name in a SELECT, so that it reads no index; None: nothing to put."""

    def read_no_index(self) -> None:
        """Makes statements find rows without any index until the transaction ends, where the engine can."""

    def rebuild_statements(self, table: Table, index: str) -> Sequence[str]:
        """Returns the statements that rebuild an index."""

    def rebuild(self, table: Table, index: str) -> None:
        """Rebuilds an index, even if an earlier rebuild was interrupted. Outside of transactions; raises Refused."""

    def duplicates(self, table: Table, columns: Sequence[str]) -> list[tuple[str, ...]]:
        """Returns a few values that several rows have in columns that must be unique. Outside of transactions."""

    def parent(self, table: Table, constraint: str, columns: Sequence[str]) -> Parent | None:
        """Returns what the foreign key with this name, or else the one with these columns, refers to."""

    def default_statement(self, table: Table, key: Row, columns: Sequence[str]) -> str:
        """Returns a statement that gives columns of a row their defaults."""

    def rewrite_statements(self, table: Table, key: Row, row: Row) -> Sequence[str]:
        """Returns statements that write a row again unchanged, so that the engine recomputes its generated columns.

        Each of them changes one row.
        """

    def advance_statements(self, table: Table, column: str, sequence: str | None) -> Sequence[str]:
        """Returns statements that advance a sequence beyond a column's values, and never set it back.

        `sequence` is its name in the failure.
        """

    def suspension(self, table: Table, constraints: Sequence[str]) -> Suspension:
        """Returns what to run around a row that violates these constraints, if the session's settings don't suffice.

        Only for a repairer opened without `enforce_constraints`.
        """

    def make_quarantine(self, schema: str) -> str:
        """Returns a statement that creates the table of `quarantine_table` if it does not exist."""

    def run(self, statement: str) -> None:
        """Runs a statement outside of transactions; raises Refused."""


def named_sequence(shown: str) -> TableName:
    """Parses the name of a sequence in a failure. Raises Refused if it can't be one."""
    found = TableName.parse(shown)
    if found is None:
        raise Refused(f"no sequence is called {shown}")
    return found


def duplicates_query(dialect: Dialect, table: Table, columns: Sequence[str], through: str | None) -> str:
    """Returns a query for values that several rows have. `through` makes it read the rows instead of an index."""
    names = [dialect.quote(name) for name in columns]
    source = " ".join(filter(None, [dialect.table(table.name), through]))
    known = " AND ".join(f"{name} IS NOT NULL" for name in names)
    listed = ", ".join(names)
    return (
        f"SELECT {listed} FROM {source} WHERE {known} GROUP BY {listed} HAVING COUNT(*) > 1 ORDER BY {listed} LIMIT 5"
    )


@contextmanager
def conflict_is_refusal() -> Iterator[None]:
    """Turns TryAgain into Refused, for statements that nobody runs again."""
    try:
        yield
    except TryAgain as waiting:
        raise Refused(f"another transaction is in the way: {waiting}") from None


def quarantine_table(schema: str) -> Table:
    """Describes the table that keeps a copy of what a repair removes. Each step of a plan has one row for each `part`.

    A repair writes it in the same transaction as the change, so after a crash it also shows whether that transaction
    was committed. `what` is a row, an index entry, or a mark that a step was done. `row_values` are the values before
    the repair, `left_values` those after it.
    """
    names = ("failure", "what", "table_name", "row_key", "row_values", "left_values", "kept_at", "undone_at")
    columns = (
        Column("plan", _TEXT, nullable=False),
        Column("change_number", _NUMBER, nullable=False),
        Column("part", _NUMBER, nullable=False),
        *(Column(name, _TEXT) for name in names),
    )
    return Table(TableName(schema, QUARANTINE), columns, ("plan", "change_number", "part"))


def quarantine_definition(name: str, text: str, options: str = "") -> str:
    """Returns the statement that creates the quarantine table. `text` is the engine's type for text of any length."""
    return (
        f"CREATE TABLE IF NOT EXISTS {name} (plan VARCHAR(40) NOT NULL, change_number INTEGER NOT NULL, "
        f"part INTEGER NOT NULL, failure VARCHAR(60), what VARCHAR(20), table_name {text}, row_key {text}, "
        f"row_values {text}, left_values {text}, kept_at VARCHAR(40), undone_at VARCHAR(40), "
        f"PRIMARY KEY (plan, change_number, part)){options}"
    )


_TEXT = LogicalType(TypeName.TEXT, "text")
_NUMBER = LogicalType(TypeName.INTEGER, "integer", 32)
