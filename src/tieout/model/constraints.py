"""Constraints of a table, as its catalog has them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tieout.model.tables import Table, TableName


class ConstraintKind(StrEnum):
    CHECK = "check"
    NOT_NULL = "not_null"
    PRIMARY_KEY = "primary_key"
    UNIQUE = "unique"
    FOREIGN_KEY = "foreign_key"
    OTHER = "other"
    """One that no check knows: it is listed, and not checked."""

    @property
    def of_row_alone(self) -> bool:
        """Whether a row breaks it or not whatever other rows there are."""
        return self in (ConstraintKind.CHECK, ConstraintKind.NOT_NULL)


class Enforcement(StrEnum):
    ENFORCED = "enforced"
    NOT_VALID = "not_valid"
    """New rows are held to it; the old ones were never looked at."""
    DISABLED = "disabled"
    """Nobody is held to it."""


class Match(StrEnum):
    """When a reference with NULLs in it is right: SIMPLE, if there is one; FULL, if there is nothing else."""

    SIMPLE = "simple"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Reference:
    """What a foreign key refers to: columns of the parent, in the order of its own."""

    parent: TableName
    columns: tuple[str, ...]
    match: Match = Match.SIMPLE


@dataclass(frozen=True, slots=True)
class ConstraintInfo:
    """`expression` is that of a CHECK, in the engine's SQL. `index` is the one that enforces a key.

    `columns` are for people: of a key on expressions, the expressions' texts. `compared`, in the engine's SQL, are the
    parts of a key as they have to be unique, `equal` the operators that tell, where those are not the engine's own;
    `condition` is that of a unique index that has not all rows. Of a foreign
    key, `compared` are conditions between the columns of the parent `p` and of the child `c`, where the engine has more
    to say than that they are equal. `unchecked` is why it can't be checked, if it can't.

    A NOT NULL that has no name of its own is called COLUMN_not_null.
    """

    name: str
    kind: ConstraintKind
    table: Table
    columns: tuple[str, ...]
    expression: str | None = None
    condition: str | None = None
    compared: tuple[str, ...] = ()
    reference: Reference | None = None
    nulls_distinct: bool = True
    index: str | None = None
    enforcement: Enforcement = Enforcement.ENFORCED
    definition: str = ""
    unchecked: str | None = None
    equal: tuple[str, ...] = ()
