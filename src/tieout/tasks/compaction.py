"""Many changes of rows as the last one of each key; without a key, as copies that come or go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, cast

from tieout.errors import UnsupportedError
from tieout.model.row_changes import KEPT, ChangeKind, Image, Rows
from tieout.model.tables import TableName

_THERE, _GONE = int(ChangeKind.INSERT), int(ChangeKind.DELETE)


@dataclass(frozen=True, slots=True)
class Compacted:
    """Rows to stage: what is to be done with each, and how many of it. Deleted ones may hold their key alone.

    `existed`: 1 for rows whose key was there before its first change. `whole`: no image holds KEPT.
    """

    kinds: list[int]
    images: list[Image]
    copies: list[int]
    existed: list[int]
    whole: bool


class KeyedChanges:
    """The last image of each key. `columns` are those of the images, of which some may come twice."""

    def __init__(self, table: TableName, columns: Sequence[str], key: Sequence[int]) -> None:
        self._table = table
        self._columns = tuple(columns)
        self._places = tuple(key)
        self._key: Callable[[Image], Any] = itemgetter(*key)
        self._last: dict[Any, Image | None] = {}
        # Keys that were not there before their first change.
        self._born: set[Any] = set()
        self._whole = True

    def __len__(self) -> int:
        return len(self._last)

    def keys(self) -> Iterable[Any]:
        return self._last.keys()

    def add(self, changes: Rows) -> None:
        keys = list(map(self._key, changes.rows))
        if not changes.whole:
            self._require(keys)
        if changes.kind is ChangeKind.DELETE:
            self._last.update(dict.fromkeys(keys))
            return
        if changes.kind is ChangeKind.INSERT:
            self._born.update(key for key in keys if key not in self._last)
            self._last.update(zip(keys, changes.rows, strict=True))
        else:
            self._update(changes, keys)
        self._whole = self._whole and changes.whole

    def _update(self, changes: Rows, keys: list[Any]) -> None:
        old_keys = keys
        if changes.before is not None:
            pairs = zip(keys, changes.before, strict=True)
            old_keys = [key if old is None else self._key(old) for key, old in pairs]
            self._require(old_keys)
        if changes.whole and old_keys == keys:
            self._last.update(zip(keys, changes.rows, strict=True))
            return
        for row, key, old_key in zip(changes.rows, keys, old_keys, strict=True):
            if KEPT in row:
                row = self._filled(row, old_key, key)
            if old_key != key:
                self._last[old_key] = None
                if key not in self._last:
                    self._born.add(key)
            self._last[key] = row

    def _require(self, keys: list[Any]) -> None:
        if KEPT in keys if len(self._places) == 1 else any(KEPT in key for key in keys):
            raise UnsupportedError(
                f"{self._table}: the log does not tell the key of a changed row",
                "REPLICA IDENTITY has to be of the key's columns, or FULL",
            )

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
        self._born.clear()
        self._whole = True

    def take(self) -> Compacted:
        """All rows; empty afterwards."""
        kinds, images = [_THERE] * len(self._last), list(self._last.values())
        if None in images:
            for place, (key, row) in enumerate(self._last.items()):
                if row is None:
                    kinds[place], images[place] = _GONE, self._of_key(key)
        born = self._born
        existed = [int(key not in born) for key in self._last] if born else [1] * len(kinds)
        compacted = Compacted(kinds, cast(list[Image], images), [1] * len(kinds), existed, self._whole)
        self.clear()
        return compacted

    def _of_key(self, key: Any) -> Image:
        names = [self._columns[place] for place in self._places]
        values = dict(zip(names, key if len(names) > 1 else (key,), strict=True))
        return tuple(values.get(column) for column in self._columns)


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

    def take(self) -> Compacted:
        changed = [(row, copies) for row, copies in self._net.items() if copies]
        self.clear()
        kinds = [_THERE if copies > 0 else _GONE for _, copies in changed]
        images, copies = [row for row, _ in changed], [abs(copies) for _, copies in changed]
        return Compacted(kinds, images, copies, [0] * len(changed), whole=False)
