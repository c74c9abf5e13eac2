"""Turns messages of pgoutput into items of a change log. Changes of one table and kind are decoded together."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tieout.connectors.postgres.wal.pgoutput import Batch, Images, Places, Relation, described, images
from tieout.errors import ReadError
from tieout.model.positions import lsn
from tieout.model.row_changes import Begin, ChangeKind, Commit, Emptied, LogItem, LogTable, Rows
from tieout.model.server_words import told_of
from tieout.model.tables import TableName

CHANGES = {ord("I"): ChangeKind.INSERT, ord("U"): ChangeKind.UPDATE, ord("D"): ChangeKind.DELETE}

Run = tuple[int, int, int, int]
"""Kind and OID of consecutive messages, and their numbers in the batch: first <= … < last."""


class Section:
    """Messages of a batch, first <= … < last, with no Relation message among them.

    Those of one table and kind are decoded together, when the first of them is needed: a batch may consist of many
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
            # The work grows with the size of the batch, and would be repeated for each of many tables.
            batch = batch.only(numbers)
            starts = batch.starts
        try:
            return images(batch, starts, relation, CHANGES[kind])
        except UnicodeDecodeError as error:
            hint = "the database's encoding does not define its texts (SQL_ASCII, for example)"
            raise ReadError(f"{relation.table.name}: a changed row is not UTF-8: {told_of(error)}", hint) from None


_BEGIN, _COMMIT, _RELATION, _TRUNCATE = (ord(kind) for kind in "BCRT")

_BEGUN = struct.Struct(">xQqI")
_COMMITTED = struct.Struct(">xxQQq")
_TRUNCATED = struct.Struct(">xIx")

_EPOCH = 946_684_800_000_000
"""2000-01-01, PostgreSQL's epoch, in microseconds since 1970."""


@dataclass(slots=True)
class _Transaction:
    xid: int
    commit_begins: int
    at: int
    wanted: bool
    begun: bool = False

    @property
    def evidence(self) -> str:
        return evidence(self.commit_begins, self.at, self.xid)


_NONE = _Transaction(0, 0, 0, wanted=False)
"""The state between two transactions."""


def evidence(commit_begins: int, at: int, xid: int) -> str:
    """Identifies a transaction: another log would have other values at this position (Position.commit)."""
    return f"{lsn(commit_begins)}.{xid}.{at}"


def begins(batch: Batch) -> Iterator[str]:
    """Yields the evidence of each transaction that begins in a batch."""
    for number in np.flatnonzero(batch.octets[batch.starts] == _BEGIN).tolist():
        yield evidence(*_BEGUN.unpack_from(batch.buffer, batch.starts[number]))


class Decoder:
    """Decodes one stream, batch by batch: the transactions whose commit records begin in after <= … < upto.

    The server decides in the same way which transactions lie before a slot's confirmed position, for any position, even
    inside a record. Between records this is equal to "ends after `after` and not after `upto`".

    The decoder skips a transaction whose beginning is missing. If it should have been decoded, the decoder skips
    everything after it, too: `torn` is then True, and `reached` is the end of what was decoded. `last` is the evidence
    of the last transaction, whether or not it changed these tables.
    """

    def __init__(self, after: int, upto: int, tables: frozenset[TableName], log: str = "") -> None:
        """`log` is the identity of the log, for positions."""
        self._after = after
        self._upto = upto
        self._log = log
        self._wanted = tables
        self._tables: dict[LogTable, LogTable] = {}
        self._relations: dict[int, Relation] = {}
        self._transaction = _NONE
        self.reached = after
        self.last = ""
        self.torn = False

    def items(self, batch: Batch) -> list[LogItem]:
        """Decodes the next batch of messages."""
        found: list[LogItem] = []
        first = 0
        for number in np.flatnonzero(batch.octets[batch.starts] == _RELATION).tolist():
            self._decode(batch, first, number, found)
            self._describe(batch.message(number))
            first = number + 1
        self._decode(batch, first, len(batch), found)
        return found

    def _describe(self, message: bytes) -> None:
        relation = described(message)
        # A renamed table has another name from here on.
        self._relations.pop(relation.oid, None)
        if relation.table.name in self._wanted:
            table = self._tables.setdefault(relation.table, relation.table)
            self._relations[relation.oid] = replace(relation, table=table)

    def _decode(self, batch: Batch, first: int, last: int, found: list[LogItem]) -> None:
        """Appends the items of messages that contain no Relation message."""
        section = Section(batch, first, last)
        for run in section.runs():
            kind, oid = run[:2]
            if self.torn:
                return
            if kind in CHANGES:
                if self._transaction.wanted and (relation := self._relations.get(oid)):
                    self._append(section.rows(relation, run), found)
            elif kind == _BEGIN:
                self._begin(batch, run[2])
            elif kind == _COMMIT:
                # There are several if the Begin messages between them are missing.
                for number in range(*run[2:]):
                    self._commit(batch, number, found)
            elif kind == _TRUNCATE and self._transaction.wanted:
                for number in range(*run[2:]):
                    self._truncate(batch.message(number), found)

    def _append(self, item: Rows | Emptied, found: list[LogItem]) -> None:
        if not self._transaction.begun:
            self._transaction.begun = True
            found.append(Begin(lsn(self._transaction.commit_begins, self._log), str(self._transaction.xid)))
        found.append(item)

    def _begin(self, batch: Batch, number: int) -> None:
        commit_begins, at, xid = _BEGUN.unpack_from(batch.buffer, batch.starts[number])
        self._transaction = _Transaction(xid, commit_begins, at, self._lies_between(commit_begins))

    def _commit(self, batch: Batch, number: int, found: list[LogItem]) -> None:
        commit_begins, end, at = _COMMITTED.unpack_from(batch.buffer, batch.starts[number])
        if self._transaction.wanted:
            self.last = self._transaction.evidence
        if self._transaction.begun:
            found.append(Commit(lsn(end, self._log), str(self._transaction.xid), at + _EPOCH))
            self.reached = end
        elif self._transaction is _NONE:
            self.torn = self.torn or self._lies_between(commit_begins)
        self._transaction = _NONE

    def _lies_between(self, commit_begins: int) -> bool:
        return self._after <= commit_begins < self._upto

    def _truncate(self, message: bytes, found: list[LogItem]) -> None:
        (count,) = _TRUNCATED.unpack_from(message)
        for oid in struct.unpack_from(f">{count}I", message, _TRUNCATED.size):
            if relation := self._relations.get(oid):
                self._append(Emptied(relation.table.name), found)
