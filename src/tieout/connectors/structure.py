"""How a target's table is made: what is there before its rows, and what only gets in their way until they are."""

from __future__ import annotations

from dataclasses import dataclass

TABLE = "{table}"
"""Stands in a statement for the target's table."""


@dataclass(frozen=True, slots=True)
class Structure:
    """Statements in the target's dialect, with {table} for its name.

    `create`: columns, and the key if the engine keeps rows in its order. `indexes`: once the rows are copied, the
    key's first. `unique`: once all rows are of one position; before, two of them may hold one value. `references`:
    foreign keys, when all tables are that far. `counters`: what new rows are numbered by.
    """

    create: tuple[str, ...]
    indexes: tuple[str, ...] = ()
    unique: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    counters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unholdable:
    """A column that no type of the target holds, and why."""

    column: str
    reason: str
