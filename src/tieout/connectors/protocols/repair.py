"""What a connector offers that can be written to.

A Writer carries out changes of rows, given as text, on one connection. A Repairer can do more than change rows: it ends
what a check found.
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
"""Columns of a table and their values as canonical text; None is NULL."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A foreign key of `child` to a table: child.columns refer to its columns `to`."""

    name: str
    child: TableName
    columns: tuple[str, ...]
    to: tuple[str, ...]
    on_delete: str

    @property
    def loses(self) -> bool:
        """Whether a DELETE of the row that is referred to would silently change or delete rows of the child."""
        return self.on_delete.upper() not in ("NO ACTION", "RESTRICT")


class Refused(Exception):
    """The engine did not take a statement, or no statement can say it; what was done before it stands.

    `collides`: another row has the unique value that this one wants.
    """

    def __init__(self, message: str, *, collides: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.collides = collides


class TryAgain(Exception):
    """The transaction had to give way to another one. Rolled back and begun anew, it may go through."""


class Statements(Protocol):
    """The change of one row as one statement, in an engine's dialect. Generated columns are never written.

    Text of any content can't break out of its literal. Raises Refused for a value that no literal can say.
    """

    def opening(self) -> Sequence[str]:
        """What a file of statements begins with: a session in which they mean what they say."""

    def begin(self) -> Sequence[str]:
        """Begins a transaction of the file."""

    def closing(self) -> Sequence[str]:
        """What a file ends with: the session is left as it was found."""

    def insert(self, table: Table, row: Row) -> str: ...

    def update(self, table: Table, key: Row, row: Row) -> str: ...

    def delete(self, table: Table, key: Row, unless: Sequence[Reference] = ()) -> str:
        """Deletes nothing if a row refers to it by one of the foreign keys `unless`."""


class Writer(Protocol):
    """Changes rows on one connection, in transactions. Lives on the driver, not for use by two threads."""

    statements: Statements

    def exact(self, column: Column) -> Kind:
        """The form in which a value, read and written back, is what it was: spelling, scale and order included."""

    def references(self, table: Table) -> Sequence[Reference]:
        """The foreign keys that refer to the table."""

    def rows(self, scan: Scan, keys: Sequence[Key], *, lock: bool) -> Iterator[pa.RecordBatch]:
        """The rows with these keys, as a Reader's lookup gives them; locked to the transaction's end if asked."""

    def begin(self, *, deferred: bool = False) -> None:
        """Begins a transaction; `deferred` lets constraints that can wait be checked at its end."""

    def execute(self, statement: str) -> int:
        """Rows changed. Raises Refused with the transaction as it was before, TryAgain, or an EndpointError."""

    def commit(self) -> None:
        """Raises Refused if the engine rolled back instead."""

    def rollback(self) -> None:
        """Never raises: a connection that is gone has rolled back."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Parent:
    """What a foreign key refers to: `columns` are the child's, `to` the parent's."""

    table: TableName
    columns: tuple[str, ...]
    to: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trigger:
    """`event`: INSERT, UPDATE or DELETE. One of several events is told several times."""

    name: str
    event: str


@dataclass(frozen=True, slots=True)
class Suspension:
    """Statements between which a row may break a constraint, and what people have to know of it afterwards."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    note: str | None = None


class Repairer(Writer, Protocol):
    """Repairs what a check found."""

    rewrite_events: Sequence[str]
    """The events of the statements of `rewrite_statements`."""

    def triggers(self, table: Table) -> Sequence[Trigger]:
        """People's own, that a change of a row may set off in this session."""

    def address_column(self, table: Table) -> Column | None:
        """What stands for a column, and is the place of a row as failures have it; None if rows have none."""

    def columns_from_address(self, table: Table, place: str) -> Row:
        """The columns of a row that its place tells."""

    def is_transactional(self, table: Table) -> bool: ...

    def no_index_hint(self, table: Table) -> str | None:
        """SQL behind a table's name in SELECT, so that no index is read."""

    def read_no_index(self) -> None:
        """Until the transaction ends, statements find rows without any index, where the engine can."""

    def rebuild_statements(self, table: Table, index: str) -> Sequence[str]:
        """What makes an index anew, as statements."""

    def rebuild(self, table: Table, index: str) -> None:
        """Carries that out, also if it was broken off before. In no transaction; raises Refused."""

    def duplicates(self, table: Table, columns: Sequence[str]) -> list[tuple[str, ...]]:
        """Values that several rows have in columns that have to be unique, the first few. In no transaction."""

    def parent(self, table: Table, constraint: str, columns: Sequence[str]) -> Parent | None:
        """What a foreign key of this name, or else of these columns, refers to."""

    def default_statement(self, table: Table, key: Row, columns: Sequence[str]) -> str:
        """Gives columns of a row their defaults."""

    def rewrite_statements(self, table: Table, key: Row, row: Row) -> Sequence[str]:
        """Statements, of which each changes one row: it is written again as it is, and what is generated from it."""

    def advance_statements(self, table: Table, column: str, sequence: str | None) -> Sequence[str]:
        """Lets a sequence, by the name that failures have, go on behind a column's values; one that is there stays."""

    def suspension(self, table: Table, constraints: Sequence[str]) -> Suspension:
        """For a session that is not enforce_constraints, where its settings do not suffice."""

    def make_quarantine(self, schema: str) -> str:
        """What makes the table of `quarantine_table`, if it is not there."""

    def run(self, statement: str) -> None:
        """In no transaction; raises Refused."""


def named_sequence(shown: str) -> TableName:
    """By the name that a failure has."""
    found = TableName.parse(shown)
    if found is None:
        raise Refused(f"no sequence is called {shown}")
    return found


def duplicates_of(dialect: Dialect, table: Table, columns: Sequence[str], through: str | None) -> str:
    """`through` forces a read of the rows themselves."""
    names = [dialect.quote(name) for name in columns]
    source = " ".join(filter(None, [dialect.table(table.name), through]))
    known = " AND ".join(f"{name} IS NOT NULL" for name in names)
    listed = ", ".join(names)
    return (
        f"SELECT {listed} FROM {source} WHERE {known} GROUP BY {listed} HAVING COUNT(*) > 1 ORDER BY {listed} LIMIT 5"
    )


@contextmanager
def refused_if_in_the_way() -> Iterator[None]:
    """For statements that are not tried again."""
    try:
        yield
    except TryAgain as waiting:
        raise Refused(f"another transaction is in the way: {waiting}") from None


def quarantine_table(schema: str) -> Table:
    """Where a copy of what a repair removes is kept. A change of a plan has rows of its own, told apart by `part`.

    Written in the transaction of the change, it is also what tells, after a crash, whether that was committed.
    `what` is a row, an entry of an index, or a mark that something was done. `row_values` is what was there before,
    `left_values` what the repair has left there.
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
    """`text` is the engine's type for text of any length."""
    return (
        f"CREATE TABLE IF NOT EXISTS {name} (plan VARCHAR(40) NOT NULL, change_number INTEGER NOT NULL, "
        f"part INTEGER NOT NULL, failure VARCHAR(60), what VARCHAR(20), table_name {text}, row_key {text}, "
        f"row_values {text}, left_values {text}, kept_at VARCHAR(40), undone_at VARCHAR(40), "
        f"PRIMARY KEY (plan, change_number, part)){options}"
    )


_TEXT = LogicalType(TypeName.TEXT, "text")
_NUMBER = LogicalType(TypeName.INTEGER, "integer", 32)
