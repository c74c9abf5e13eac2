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
    """A constraint that no check knows: listed, and not checked."""

    @property
    def of_row_alone(self) -> bool:
        """Whether a row breaks it regardless of other rows."""
        return self in (ConstraintKind.CHECK, ConstraintKind.NOT_NULL)


class Enforcement(StrEnum):
    ENFORCED = "enforced"
    NOT_VALID = "not_valid"
    """The engine enforces it for new rows, and never checked the old ones."""
    DISABLED = "disabled"
    """The engine does not enforce it."""


class Match(StrEnum):
    """When a reference with NULLs is valid: SIMPLE, if any column is NULL; FULL, if all are."""

    SIMPLE = "simple"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Reference:
    """The target of a foreign key: columns of the parent, in the order of the key's own."""

    parent: TableName
    columns: tuple[str, ...]
    match: Match = Match.SIMPLE


@dataclass(frozen=True, slots=True)
class ConstraintInfo:
    """`expression` is that of a CHECK, in the engine's SQL. `index` is the one that enforces a key.

    `columns` are for people: for a key on expressions, the expressions' texts. `compared`, in the engine's SQL, are the
    parts of a key that have to be unique, `equal` the operators that compare them, if not the engine's own;
    `condition` is that of a partial unique index. For a foreign key, `compared` are conditions between the columns of
    the parent `p` and of the child `c`, where plain equality is not enough. `unchecked` is why it can't be
    checked, if it can't.

    A NOT NULL without a name of its own is called COLUMN_not_null.
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
