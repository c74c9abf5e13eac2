"""What a connector offers that can be written to: changes as text, and a connection that carries them out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from tieout.connectors.protocols.endpoint import Scan
from tieout.model.keys import Key
from tieout.model.kinds import Kind
from tieout.model.tables import Column, Table, TableName

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
