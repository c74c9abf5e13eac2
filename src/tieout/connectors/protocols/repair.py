"""What a connector offers to those who mend what a check found: a writer that can do more than change rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from tieout.connectors.sql import select
from tieout.connectors.sql.internal_tables import QUARANTINE
from tieout.connectors.writing import Refused, Row, TryAgain, Writer
from tieout.model.tables import Column, Table, TableName
from tieout.model.types import LogicalType, TypeName


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
    """Opened lawful, its statements are held to the constraints of rows; one that undoes puts back what broke them."""

    rewritten_by: Sequence[str]
    """The events of the statements of `rewriting`."""

    def triggers(self, table: Table) -> Sequence[Trigger]:
        """People's own, that a change of a row may set off in this session."""

    def place(self, table: Table) -> Column | None:
        """What stands for a column, and is the place of a row as failures have it; None if rows have none."""

    def known_from(self, table: Table, place: str) -> Row:
        """The columns of a row that its place tells."""

    def is_transactional(self, table: Table) -> bool: ...

    def past_indexes(self, table: Table) -> str | None:
        """SQL behind a table's name in SELECT, so that no index is read."""

    def read_no_index(self) -> None:
        """Until the transaction ends, statements find rows without any index, where the engine can."""

    def rebuilding(self, table: Table, index: str) -> Sequence[str]:
        """What makes an index anew, as statements."""

    def rebuild(self, table: Table, index: str) -> None:
        """Carries that out, also if it was broken off before. In no transaction; raises Refused."""

    def duplicates(self, table: Table, columns: Sequence[str]) -> list[tuple[str, ...]]:
        """Values that several rows have in columns that have to be unique, the first few. In no transaction."""

    def parent(self, table: Table, constraint: str, columns: Sequence[str]) -> Parent | None:
        """What a foreign key of this name, or else of these columns, refers to."""

    def default(self, table: Table, key: Row, columns: Sequence[str]) -> str:
        """Gives columns of a row their defaults."""

    def rewriting(self, table: Table, key: Row, row: Row) -> Sequence[str]:
        """Statements, of which each changes one row: it is written again as it is, and what is generated from it."""

    def advancing(self, table: Table, column: str, sequence: str | None) -> Sequence[str]:
        """Lets a sequence, by the name that failures have, go on behind a column's values; one that is there stays."""

    def suspension(self, table: Table, constraints: Sequence[str]) -> Suspension:
        """For a session that is not lawful, where its settings do not suffice."""

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


def duplicates_of(dialect: select.Dialect, table: Table, columns: Sequence[str], through: str | None) -> str:
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
