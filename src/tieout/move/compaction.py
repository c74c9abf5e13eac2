"""Many changes of rows as the last one of each key; without a key, as copies that come or go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from tieout.errors import UnsupportedError
from tieout.model.changes import KEPT, ChangeKind, Image, Rows
from tieout.model.tables import TableName


@dataclass(frozen=True, slots=True)
class Compacted:
    """Rows to stage: what is to be done with each, and how many of it. Deleted ones may hold their key alone."""

    kinds: list[int]
    images: list[Image]
    copies: list[int]


class KeyedChanges:
    """The last image of each key. `existing` counts the keys that were there before the first change of all."""

    def __init__(self, table: TableName, width: int, key: Sequence[int]) -> None:
        self._table = table
        self._width = width
        self._places = tuple(key)
        self._key: Callable[[Image], Any] = itemgetter(*key)
        self._last: dict[Any, Image | None] = {}
        self._was_there: dict[Any, bool] = {}

    def __len__(self) -> int:
        return len(self._last)

    def keys(self) -> Iterable[Any]:
        return self._last.keys()

    def add(self, changes: Rows) -> None:
        if changes.kind is ChangeKind.UPDATE:
            self._update(changes.rows, changes.before)
            return
        there = changes.kind is ChangeKind.DELETE
        for row in changes.rows:
            key = self._key(row)
            self._was_there.setdefault(key, there)
            self._last[key] = None if there else row

    def _update(self, rows: Iterable[Image], before: Sequence[Image | None] | None) -> None:
        for number, row in enumerate(rows):
            key, old = self._key(row), before[number] if before is not None else None
            old_key = key if old is None else self._key(old)
            if KEPT in row:
                row = self._filled(row, old_key, key)
            self._was_there.setdefault(old_key, True)
            if old_key != key:
                self._last[old_key] = None
                self._was_there.setdefault(key, False)
            self._last[key] = row

    def _filled(self, row: Image, old_key: Any, key: Any) -> Image:
        """Takes what the log left out from an earlier change, if there was one."""
        earlier = self._last.get(old_key)
        if earlier is not None:
            row = tuple(b if a is KEPT else a for a, b in zip(row, earlier, strict=True))
        if KEPT in row and old_key != key:
            raise UnsupportedError(
                f"{self._table}: a row with a large value got another key, and the log left the value out",
                "ALTER TABLE … REPLICA IDENTITY FULL",
            )
        return row

    def clear(self) -> None:
        """The table was emptied: what was changed before does not matter."""
        self._last.clear()
        self._was_there.clear()

    def take(self) -> tuple[Compacted, int]:
        """All rows, and how many of their keys were there; empty afterwards."""
        kinds = [int(ChangeKind.DELETE if row is None else ChangeKind.INSERT) for row in self._last.values()]
        images = [self._of_key(key) if row is None else row for key, row in self._last.items()]
        existing = sum(self._was_there.values())
        self.clear()
        return Compacted(kinds, images, [1] * len(kinds)), existing

    def _of_key(self, key: Any) -> Image:
        row: list[Any] = [None] * self._width
        for place, value in zip(self._places, key if len(self._places) > 1 else (key,), strict=True):
            row[place] = value
        return tuple(row)


@dataclass
class CopiedChanges:
    """How many copies of each row come (or go, below zero)."""

    table: TableName
    _net: Counter[Image] = field(default_factory=Counter)

    def __len__(self) -> int:
        return len(self._net)

    def add(self, changes: Rows) -> None:
        if changes.kind is ChangeKind.INSERT:
            self._net.update(changes.rows)
            return
        gone = changes.rows if changes.kind is ChangeKind.DELETE else changes.before
        if gone is None or any(row is None or KEPT in row for row in gone):
            raise UnsupportedError(
                f"{self.table} has no key, and the log does not tell its old rows whole",
                "ALTER TABLE … REPLICA IDENTITY FULL, or give it a key",
            )
        self._net.subtract(gone)  # type: ignore[arg-type]
        if changes.kind is ChangeKind.UPDATE:
            self._net.update(changes.rows)

    def clear(self) -> None:
        self._net.clear()

    def take(self) -> tuple[Compacted, int]:
        changed = [(row, copies) for row, copies in self._net.items() if copies]
        self.clear()
        kinds = [int(ChangeKind.INSERT if copies > 0 else ChangeKind.DELETE) for _, copies in changed]
        return Compacted(kinds, [row for row, _ in changed], [abs(copies) for _, copies in changed]), 0
