"""Follows the line pointers of a table's pages: index entries point to roots of version chains, readers see their ends.

A row that is updated without a change of its keys stays in its page and gets no new entry. Its old version, or, once
that is removed, a pointer in its place, leads to the new one for as long as the row lives.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tieout.codecs.postgres_pages.btree_pages import page_matrix
from tieout.codecs.postgres_pages.spans import Flags, Octets, Places

OFFSETS = 65536
"""An address is the block number times this, plus the item number in the block."""

_PAGE_HEADER, _LINE_POINTER, _TUPLE_HEADER = 24, 4, 24
_NORMAL, _REDIRECT = 1, 2
_HOT_UPDATED, _HEAP_ONLY = 0x4000, 0x8000
_ENDED_BY_SEVERAL = 0x1000
_LONGEST_CHAIN = 300
"""A page of 8 kB has fewer tuples: a longer chain goes round in circles."""


@dataclass(frozen=True)
class HeapVersions:
    """The line pointers of some blocks that lead to something, in the order of their addresses.

    For a tuple: `masks` (t_infomask2), the address of the next version (`nexts`), and the transactions that `created`
    and `ended` it; otherwise 0. If several transactions locked it, `several` is not 0, and `ended` is a multixact, not
    the transaction that updated it. `offsets` is the item in the page that a redirecting pointer leads to.
    """

    addresses: Places
    flags: Places
    offsets: Places
    masks: Places
    nexts: Places
    created: Places
    ended: Places
    several: Places

    def entry_addresses(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The addresses that entries of these rows have: entries point to the root of a row's chain of versions."""
        places = np.minimum(np.searchsorted(self.addresses, rows), max(0, len(self.addresses) - 1))
        if len(self.addresses) == 0:
            return rows
        known = self.addresses[places] == rows
        return np.where(known, self.addresses[self._roots[places]], rows)

    def invisible(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return np.setdiff1d(self.addresses[self._is_root], self.entry_addresses(rows))

    @cached_property
    def _is_root(self) -> Flags:
        found: Flags = (self.flags != _NORMAL) | (self.masks & _HEAP_ONLY == 0)
        return found

    @cached_property
    def _roots(self) -> Places:
        """The index of each pointer's root."""
        following = self._following
        roots = np.arange(len(self.addresses))
        reached = np.flatnonzero(self._is_root & (following >= 0))
        for _ in range(_LONGEST_CHAIN):
            if len(reached) == 0:
                break
            roots[following[reached]] = roots[reached]
            reached = following[reached]
            reached = reached[following[reached] >= 0]
        return roots

    @cached_property
    def _following(self) -> Places:
        """The index of the next pointer in each chain; -1: none."""
        count = len(self.addresses)
        blocks = self.addresses // OFFSETS * OFFSETS
        redirects = self.flags == _REDIRECT
        updated = (self.flags == _NORMAL) & (self.masks & _HOT_UPDATED != 0)
        wanted = np.where(redirects, blocks + self.offsets, np.where(updated, self.nexts, -1))
        places = np.minimum(np.searchsorted(self.addresses, wanted), max(0, count - 1))
        leads = (wanted >= 0) & (self.addresses[places] == wanted) & (self.flags[places] == _NORMAL)
        leads &= self.masks[places] & _HEAP_ONLY != 0
        # After a rollback of the update, the new version may be gone, and another row may have its item.
        sure = leads & (redirects | (self.ended == self.created[places]))
        led = np.zeros(count, dtype=np.bool_)
        led[places[sure]] = True
        return np.where(sure | (leads & (self.several != 0) & ~led[places]), places, -1)


def heap_versions(batches: Iterable[pa.RecordBatch]) -> HeapVersions:
    """Reads pages, with their numbers, in the order of these. A corrupt page gives random versions and no error:
    reading the rows reports the corruption."""
    parts = [_pointers(np.asarray(batch.column(0)).astype(np.int64), page_matrix(batch.column(1))) for batch in batches]
    if not parts:
        return HeapVersions(*(np.zeros(0, dtype=np.int64) for _ in range(8)))
    return HeapVersions(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _pointers(numbers: Places, pages: Octets) -> tuple[Places, ...]:
    size = pages.shape[1]
    lower = np.minimum(pages[:, 12:14].copy().view("<u2")[:, 0].astype(np.int64), size)
    counts = np.maximum(0, lower - _PAGE_HEADER) // _LINE_POINTER
    most = int(counts.max(initial=0))
    begin = _PAGE_HEADER // _LINE_POINTER
    pointers = np.ascontiguousarray(pages).view("<u4")[:, begin : begin + most].astype(np.int64)
    flags = pointers >> 15 & 3
    of_page, items = np.nonzero((np.arange(most) < counts[:, None]) & (flags != 0))
    flags, offsets = flags[of_page, items], pointers[of_page, items] & 0x7FFF
    tuples = (flags == _NORMAL) & (offsets + _TUPLE_HEADER <= size) & (offsets % 8 == 0)
    at = np.where(tuples, of_page * size + offsets, 0)
    octets = np.ascontiguousarray(pages).reshape(-1)
    words, halves = octets.view("<u4"), octets.view("<u2")

    def of_tuple(found: npt.NDArray[np.generic]) -> Places:
        result: Places = np.where(tuples, found.astype(np.int64), 0)
        return result

    block = halves[(at >> 1) + 6].astype(np.int64) << 16 | halves[(at >> 1) + 7].astype(np.int64)
    return (
        numbers[of_page] * OFFSETS + items + 1,
        flags,
        offsets,
        of_tuple(halves[(at >> 1) + 9]),
        of_tuple(block * OFFSETS + halves[(at >> 1) + 8].astype(np.int64)),
        of_tuple(words[at >> 2]),
        of_tuple(words[(at >> 2) + 1]),
        of_tuple(halves[(at >> 1) + 10] & _ENDED_BY_SEVERAL),
    )
