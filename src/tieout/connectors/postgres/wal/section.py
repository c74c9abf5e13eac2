"""Messages between two descriptions of tables: changes of one table and kind are decoded together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tieout.connectors.postgres.wal.batch import Batch, Places
from tieout.connectors.postgres.wal.images import Images, images
from tieout.connectors.postgres.wal.relation import Relation
from tieout.errors import ReadError
from tieout.model.changes import ChangeKind, Rows
from tieout.model.server_words import told_of

CHANGES = {ord("I"): ChangeKind.INSERT, ord("U"): ChangeKind.UPDATE, ord("D"): ChangeKind.DELETE}

Run = tuple[int, int, int, int]
"""Kind and OID that messages in a row have in common, and their numbers in the batch: first <= … < last."""


class Section:
    """Messages of a batch, first <= … < last, among which no table is described anew.

    Those of one table and kind are decoded together, when the first of them is asked for: a batch may be full of
    small transactions.
    """

    def __init__(self, batch: Batch, first: int, last: int) -> None:
        self._batch = batch
        self._first = first
        self._starts: Places = batch.starts[first:last]
        self._kinds = batch.octets[self._starts]
        self._oids = batch.words[self._starts + 1]
        self._decoded: dict[tuple[int, int], tuple[Places, Images]] = {}

    def runs(self) -> Iterator[Run]:
        if not len(self._starts):
            return iter(())
        differs = (self._kinds[1:] != self._kinds[:-1]) | (self._oids[1:] != self._oids[:-1])
        firsts = np.concatenate([[0], np.flatnonzero(differs) + 1])
        lasts = np.append(firsts[1:], len(self._starts))
        numbers = firsts + self._first, lasts + self._first
        return zip(*(each.tolist() for each in (self._kinds[firsts], self._oids[firsts], *numbers)), strict=True)

    def rows(self, relation: Relation, run: Run) -> Rows:
        kind, _, first, last = run
        numbers, found = self._all(relation, kind)
        begin = numbers.searchsorted(first)
        rows = slice(begin, begin + last - first)
        before = found.before and found.before[rows]
        if before and not any(before):
            before = None
        return Rows(relation.table, CHANGES[kind], found.rows[rows], before, found.whole)

    def _all(self, relation: Relation, kind: int) -> tuple[Places, Images]:
        """The numbers of all messages of this table and kind, and their images."""
        key = relation.oid, kind
        if key not in self._decoded:
            numbers = np.flatnonzero((self._kinds == kind) & (self._oids == relation.oid)) + self._first
            self._decoded[key] = numbers, self._images(relation, kind, numbers)
        return self._decoded[key]

    def _images(self, relation: Relation, kind: int, numbers: Places) -> Images:
        batch, starts = self._batch, self._batch.starts[numbers]
        if len(numbers) * 4 < len(batch):
            # The work is that of the whole batch, and with many tables it would be done for each of them.
            batch = batch.only(numbers)
            starts = batch.starts
        try:
            return images(batch, starts, relation, CHANGES[kind])
        except UnicodeDecodeError as error:
            hint = "the database's encoding does not say what its texts are, as SQL_ASCII"
            raise ReadError(f"{relation.table.name}: a changed row is not UTF-8: {told_of(error)}", hint) from None
