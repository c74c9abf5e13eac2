"""Whether the entries of an index stand in the order that it says: within each page, and from page to page.

A page is read whole, so that what is wrong within it is wrong. Two pages are of two moments: what seems wrong between
them is looked at again, from the left page to the right one and back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa

from tieout.canonical.decode import decode
from tieout.codecs.postgres_pages.spans import Places
from tieout.connectors.postgres.check.btree_catalog import BTree
from tieout.connectors.postgres.check.index_reader import Entries, IndexReader
from tieout.connectors.postgres.check.key_order import KeyOrder
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.connectors.protocols.paths import Disorder, Values
from tieout.model.truncated import LONGEST_IN_FAILURE


@dataclass(frozen=True)
class Ends:
    """The first and the last entry of some leaf pages: two rows of `values` for each of `blocks`."""

    blocks: Places
    right: dict[int, int]
    addresses: Places
    items: Places
    values: pa.RecordBatch


@dataclass(frozen=True)
class PageOrder:
    reader: IndexReader
    tree: BTree
    order: KeyOrder
    columns: tuple[ScanColumn, ...]

    def read(self, first: int, last: int) -> tuple[list[Disorder], list[Ends]]:
        """What is wrong within the pages of [first, last), and how they begin and end."""
        wrong: list[Disorder] = []
        ends = []
        for entries in self.reader.entries(self.tree, first, last):
            if len(entries):
                wrong += self._within(entries)
            ends.append(_ends(entries))
        return wrong, ends

    def between(self, ends: Sequence[Ends]) -> list[Disorder]:
        """What is wrong from page to page."""
        if not ends:
            return []
        right = dict(chain.from_iterable(each.right.items() for each in ends))
        known = pa.Table.from_batches([each.values for each in ends]).combine_chunks()
        blocks, addresses, items = (
            np.concatenate([getattr(each, name) for each in ends]) for name in ("blocks", "addresses", "items")
        )
        place = {int(block): 2 * number for number, block in enumerate(blocks)}
        pairs = [(place[a] + 1, place[b]) for a, b in _neighbours(right, place)]
        if not pairs:
            return []
        entries = _Known(np.repeat(blocks, 2), items, addresses, known.to_batches()[0])
        return self._wrong(entries, *np.array(pairs, dtype=np.int64).T)

    def again(self, suspects: Sequence[Disorder]) -> list[Disorder]:
        """What is wrong now in the pages of these, each pair once. They may be others: entries come in between."""
        blocks = sorted({each.page for each in suspects})
        return list(dict.fromkeys(chain.from_iterable(self._around(block) for block in blocks)))

    def _around(self, block: int) -> Iterator[Disorder]:
        """What is wrong within a page, and between it and the next one that has entries."""
        within, ends = self.read(block, block + 1)
        yield from within
        found, at = list(ends), block
        while found and (following := found[-1].right.get(at, 0)):
            more = self.read(following, following + 1)[1]
            if not more or following not in more[0].right:
                return  # deleted meanwhile
            found, at = [*found, *more], following
            if len(more[0].blocks):
                break
        unmoved = [each.right for each in self.read(block, block + 1)[1]] == [each.right for each in ends]
        if unmoved:
            yield from self.between(found)

    def _within(self, entries: Entries) -> list[Disorder]:
        left = np.flatnonzero(entries.blocks[1:] == entries.blocks[:-1])
        known = _Known(entries.blocks, entries.items, entries.addresses, entries.values)
        return self._wrong(known, left, left + 1)

    def _wrong(self, entries: _Known, left: Places, right: Places) -> list[Disorder]:
        signs = self.order.signs(entries.values.take(pa.array(left)), entries.values.take(pa.array(right)))
        wrong = signs > 0
        if self.order.by_address:
            wrong |= (signs == 0) & (entries.addresses[left] > entries.addresses[right])
        return [self._disorder(entries, int(left[each]), int(right[each])) for each in np.flatnonzero(wrong)]

    def _disorder(self, entries: _Known, left: int, right: int) -> Disorder:
        places = [f"block {entries.blocks[each]}, item {entries.items[each]}" for each in (left, right)]
        first, second = self._texts(entries, left), self._texts(entries, right)
        return Disorder(first, second, " before ".join(places), int(entries.blocks[left]))

    def _texts(self, entries: _Known, place: int) -> Values:
        row = entries.values.slice(place, 1)
        return tuple(
            decode(column.kind, row.column(number)).kept(0, LONGEST_IN_FAILURE)
            for number, column in enumerate(self.columns)
        )


@dataclass(frozen=True)
class _Known:
    blocks: Places
    items: Places
    addresses: Places
    values: pa.RecordBatch


def _ends(entries: Entries) -> Ends:
    right = dict(zip(entries.pages.blocks.tolist(), entries.pages.right.tolist(), strict=True))
    blocks, first = np.unique(entries.blocks, return_index=True)
    last = np.append(first[1:], len(entries)) - 1 if len(first) else first
    both = np.stack([first, last], axis=1).reshape(-1)
    return Ends(blocks, right, entries.addresses[both], entries.items[both], entries.values.take(pa.array(both)))


def _neighbours(right: dict[int, int], known: dict[int, int]) -> Iterator[tuple[int, int]]:
    """Pages that have entries, each with the next one that has."""
    for block in known:
        following, steps = right.get(block, 0), 0
        while following and following not in known and steps < len(right):
            following, steps = right.get(following, 0), steps + 1
        if following in known and following != block:
            yield block, following
