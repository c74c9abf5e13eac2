"""Which changes of the log the copied chunks of a table already contain."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress

from tieout.errors import UnsupportedError
from tieout.model.keys import Key
from tieout.model.moves import Chunk, Held
from tieout.model.row_changes import KEPT, Begin, ChangeKind, Image, Rows

PlaceKeys = Callable[[Sequence[Image]], list[int]]
"""For each row the number of the chunk in whose range its key lies."""


@dataclass(frozen=True)
class SnapshotOverlap:
    """The chunks of one table, in the order of their ranges, and the keys at which they meet.

    `integers` are the same, if the key is one integer.
    """

    held: tuple[Held, ...]
    bounds: tuple[Key, ...] = ()
    integers: tuple[int, ...] | None = None

    @classmethod
    def of(cls, chunks: Sequence[Chunk], *, integer: bool) -> SnapshotOverlap:
        """ValueError unless all chunks are copied."""
        held = tuple(chunk.held for chunk in chunks if chunk.held is not None)
        if len(held) != len(chunks):
            raise ValueError("a chunk is not copied yet")
        bounds = tuple(chunk.keys.low for chunk in chunks[1:] if chunk.keys.low is not None)
        return cls(held, bounds, tuple(int(bound[0]) for bound in bounds) if integer else None)

    def concerns(self, transaction: Begin) -> bool:
        """Whether any chunk holds the transaction: from some position on, none does."""
        return any(held.holds(transaction) for held in self.held)

    def all_hold(self, transaction: Begin) -> bool:
        """Whether every chunk was read after the transaction."""
        return bool(self.held) and all(held.holds(transaction) for held in self.held)

    def may_be_later_than(self, transaction: Begin) -> bool:
        """Whether rows of a chunk may have been read after the transaction."""
        return any(not transaction.position.reaches(held.settled or held.position) for held in self.held)

    def are_settled(self, transaction: Begin) -> bool:
        """Whether it is known for every row if it existed before the transaction."""
        return all(held.settled is None or transaction.position.reaches(held.settled) for held in self.held)

    def rest(self, changes: Rows, transaction: Begin, key: Callable[[Image], object], places: PlaceKeys) -> list[Rows]:
        """The changes that no chunk contains. A row that moved to another chunk is a delete and an insert."""
        if all(held.holds(transaction) for held in self.held):
            return []
        if changes.kind is not ChangeKind.UPDATE or changes.before is None:
            wanted = self._open(changes.rows, transaction, key, places)
            rows = list(compress(changes.rows, wanted))
            before = None if changes.before is None else list(compress(changes.before, wanted))
            return [Rows(changes.table, changes.kind, rows, before)] if rows else []
        old = [row if earlier is None else earlier for row, earlier in zip(changes.rows, changes.before, strict=True)]
        open_old = self._open(old, transaction, key, places)
        open_new = self._open(changes.rows, transaction, key, places)
        parts: list[Rows] = []
        for number, row in enumerate(changes.rows):
            parts += _update(changes, number, row, old[number], open_old[number], open_new[number])
        return parts

    def _open(
        self, rows: Sequence[Image], transaction: Begin, key: Callable[[Image], object], places: PlaceKeys
    ) -> list[bool]:
        if len(self.held) == 1:
            chunks = [0] * len(rows)
        elif self.integers is not None:
            chunks = [bisect_right(self.integers, int(str(key(row)))) for row in rows]
        else:
            chunks = places(rows)
        return [not self.held[chunk].holds(transaction) for chunk in chunks]


def _update(changes: Rows, number: int, row: Image, old: Image, open_old: bool, open_new: bool) -> list[Rows]:
    if open_old and open_new:
        before = changes.before[number] if changes.before is not None else None
        return [Rows(changes.table, ChangeKind.UPDATE, [row], [before])]
    if open_old:
        return [Rows(changes.table, ChangeKind.DELETE, [old])]
    if not open_new:
        return []
    if KEPT in row:
        # The old row's chunk was copied after the row had moved: the value that the log left out is nowhere.
        raise UnsupportedError(
            f"{changes.table.name}: a row with a large value got another key while it was copied",
            "ALTER TABLE … REPLICA IDENTITY FULL, then drop the task and start over",
        )
    return [Rows(changes.table, ChangeKind.INSERT, [row])]
