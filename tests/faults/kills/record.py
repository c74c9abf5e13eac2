"""What a writer did to a source, kept by the writer itself: the measure that targets are held to. Knows no Tieout."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

Row = tuple[Any, ...]
Key = tuple[Any, ...]

KEYS = {"keyed": 1, "named": 2, "emptied": 1, "loose": None, "events": None}
"""How many leading columns are a table's key; None: it has no key, and no two rows that are ever alike.

`copies` is a table beside them, without a key and with many rows that are alike.
"""

BEFORE = 0
"""The number of the transaction that filled the tables, before any mover began."""


@dataclass(frozen=True, slots=True)
class Step:
    """A committed transaction. `asked` is when its COMMIT was sent, `position` how long the log was afterwards."""

    number: int
    asked: float
    position: int


@dataclass
class Record:
    """Histories are by table and key: (transaction, row), or None for a row that is gone. They begin with None."""

    steps: list[Step] = field(default_factory=list)
    histories: dict[str, dict[Key, list[tuple[int, Row | None]]]] = field(
        default_factory=lambda: {table: {} for table in KEYS}
    )
    copies: Counter[Row] = field(default_factory=Counter)
    ever: set[Row] = field(default_factory=set)
    """Rows that `copies` had at some time."""

    def changed(self, number: int, rows: dict[tuple[str, Key], Row | None]) -> None:
        """What became of keys in a transaction that is committed."""
        for (table, key), row in rows.items():
            self.histories[table].setdefault(key, [(-1, None)]).append((number, row))

    def now(self, table: str) -> Counter[Row]:
        """What the table holds."""
        if table == "copies":
            return +self.copies
        return Counter(history[-1][1] for history in self.histories[table].values() if history[-1][1] is not None)

    @property
    def tables(self) -> tuple[str, ...]:
        return (*KEYS, "copies")


def key_of(table: str, row: Row) -> Key:
    return row[: KEYS[table]]  # all of it, if the table has no key
