"""Finishing a move: what a target needs before applications write to it, and what a source has besides rows.

A Catalog reads definitions on either side. A TargetFinish changes the target, too, under the mover's fence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tieout.connectors.sql.ddl import Reference
from tieout.model.constraints import ConstraintInfo
from tieout.model.finish import Counter, DisabledTrigger
from tieout.model.moves import Fence
from tieout.model.tables import Table, TableName


@dataclass(frozen=True, slots=True)
class DatabaseObject:
    """Something in a database that is not a row. `table` is the table that it belongs to, if it belongs to one.

    `facts` are what has to be equal on the other side besides the name, if they can be compared. `holder` is a user
    that has a privilege.
    """

    kind: str
    schema: str
    name: str
    table: TableName | None = None
    facts: str | None = None
    detail: str | None = None
    holder: str | None = None
    next: int | None = None


@dataclass(frozen=True, slots=True)
class Definition:
    """An index or a CHECK of a table. `columns` are those of the index in their order.

    `rule` is all the rest, comparable within one engine. `plain`: the columns say all that another engine could have.
    """

    kind: str
    name: str
    columns: tuple[str, ...]
    rule: str = ""
    plain: bool = True
    detail: str | None = None


INDEX, UNIQUE, PRIMARY, CHECK, EXCLUSION = "index", "unique index", "primary key", "check", "exclusion constraint"


class Catalog(Protocol):
    """Reads the definitions of one database, on the driver. Changes nothing."""

    def objects(self, schemas: Sequence[str], tables: Sequence[TableName]) -> list[DatabaseObject]:
        """Returns what is in these schemas, and what belongs to these tables. Without Tieout's own objects."""

    def definitions(self, table: Table) -> list[Definition]:
        """Returns the table's indexes and CHECKs."""

    def references(self, table: Table) -> list[Reference]:
        """Returns the table's foreign keys."""

    def following(self, table: Table) -> Mapping[str, int]:
        """Returns the next number of each column that the server numbers."""

    def blind_spots(self) -> list[str]:
        """Returns in words what this user may not see, so that `objects` may lack it."""

    def close(self) -> None:
        """Closes the connection."""


@dataclass(frozen=True, slots=True)
class Orphans:
    """How many rows refer to a row that does not exist, and the values of one of them."""

    rows: int
    example: str | None = None


class TargetFinish(Catalog, Protocol):
    """Prepares a target for applications."""

    def count_on(self, fence: Fence, table: Table, wanted: Mapping[str, int]) -> list[Counter]:
        """Makes the columns that the server numbers continue at `wanted` or later: never lower than they would now, and
        beyond every number in the table.
        """

    def foreign_keys(self, tables: Sequence[Table]) -> list[ConstraintInfo]:
        """Returns the foreign keys of these tables, and those of other tables that refer to them."""

    def validate(self, fence: Fence, key: ConstraintInfo) -> None:
        """Makes the server validate a foreign key that it has not validated. WriteError if rows violate it."""

    def orphans(self, key: ConstraintInfo) -> Orphans:
        """Looks for rows that violate a foreign key, whether the server has it or not."""

    def disabled_triggers(self, tables: Sequence[TableName]) -> list[DisabledTrigger]:
        """Returns the triggers that the server does not run, those of foreign keys among them."""

    def analyze(self, fence: Fence, table: TableName) -> None:
        """Makes the server update its statistics of a table."""

    def warnings(self) -> list[str]:
        """Returns in words what keeps the server from enforcing what it should."""
