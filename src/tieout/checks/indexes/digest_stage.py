"""Digests a table and its indexes, piece by piece, in waves of Spark jobs.

Each wave is recorded, so that --resume goes on after it. While others write to the table, the pieces are of many
moments; what differs for that reason alone agrees in a recheck.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import SparkSession

from tieout.canonical.bucket_digests import bucket_count
from tieout.checks.checked import Unit
from tieout.checks.indexes.index_fingerprints import Tally
from tieout.checks.indexes.projection import TableColumns
from tieout.checks.indexes.work import Digested, DigestIndex, DigestTable
from tieout.checks.options import CheckOptions
from tieout.connectors.protocols.check import IndexInfo
from tieout.connectors.protocols.paths import Path, TablePath
from tieout.errors import TieoutError
from tieout.runtime.dispatch import rate_of_a_task, run_dealt, slots
from tieout.runtime.ranges import pending, resumable
from tieout.spark.executor_work import Outcome, Work

_VERSION = 2
_PIECE_ROWS = 1_000_000
_PIECES_PER_SLOT = 6
_ROOTED_FROM = 1 / 16
"""Fraction of the buckets: if fewer differ, their rows are read at once, without this extra scan."""


@dataclass(frozen=True)
class ReadableIndex:
    """An index and the path that reads it."""

    info: IndexInfo
    path: Path


@dataclass(frozen=True)
class TableIndexes:
    """A table with some of its indexes. `read` are the columns for digests, `described` those for reports, with the
    key.
    """

    path: TablePath
    read: TableColumns
    described_path: TablePath
    described: TableColumns
    indexes: Sequence[ReadableIndex]

    @property
    def estimated_rows(self) -> int | None:
        return self.indexes[0].info.table.estimated_rows


@dataclass
class IndexDigests:
    """The digests of one index: what it should hold by its table, and what it holds. `error` kept it from being
    read.
    """

    expected: Tally
    held: Tally
    entries: int = 0
    error: TieoutError | None = None

    def differing(self) -> frozenset[int]:
        balance = Tally(self.expected.counts.copy(), self.expected.sums.copy())
        balance.subtract(self.held)
        return balance.unbalanced()


@dataclass
class Digests:
    """Everything digested so far. `done` are the numbers of finished pieces, those of the table first."""

    buckets: int
    most: int
    indexes: list[IndexDigests]
    rows: int = 0
    done: set[int] = field(default_factory=set)

    def to_bytes(self, table: TableIndexes) -> bytes:
        head = {
            **_layout(table),
            "buckets": self.buckets,
            "most": self.most,
            "rows": self.rows,
            "entries": [each.entries for each in self.indexes],
            "done": sorted(self.done),
        }
        tallies = [tally.to_bytes() for each in self.indexes for tally in (each.expected, each.held)]
        return json.dumps(head).encode() + b"\n" + b"".join(tallies)


def kept_digests(table: TableIndexes, packed: bytes) -> tuple[TableIndexes, Digests] | None:
    """The recorded digests, and the table divided as it was then. None if they are of other indexes."""
    line, _, tallies = packed.partition(b"\n")
    head = json.loads(line)
    layout = _layout(table)
    if any(head.get(name) != layout[name] for name in ("version", "indexes")):
        return None
    extents = head["extents"]
    paths = [index.path.divided_by(extent) for index, extent in zip(table.indexes, extents[1:], strict=True)]
    cut = replace(
        table,
        path=table.path.divided_by(extents[0]),
        indexes=[replace(index, path=path) for index, path in zip(table.indexes, paths, strict=True)],
    )
    wide = len(tallies) // (2 * len(table.indexes))
    parts = [Tally.from_bytes(tallies[start : start + wide]) for start in range(0, len(tallies), wide)]
    indexes = [
        IndexDigests(expected, held, entries)
        for expected, held, entries in zip(parts[::2], parts[1::2], head["entries"], strict=True)
    ]
    return cut, Digests(head["buckets"], head["most"], indexes, head["rows"], set(head["done"]))


def _layout(table: TableIndexes) -> dict[str, Any]:
    return {
        "version": _VERSION,
        "indexes": [[index.info.name, index.info.definition] for index in table.indexes],
        "extents": [table.path.division, *(index.path.division for index in table.indexes)],
    }


@dataclass(frozen=True)
class _Piece:
    """`of` is an index's number; None: the table."""

    number: int
    of: int | None
    work: Work


@dataclass
class DigestStage:
    spark: SparkSession
    table: TableIndexes
    options: CheckOptions
    unit: Unit

    def run(self) -> tuple[TableIndexes, Digests]:
        """Raises an error of the table; an error of an index is in its digests."""
        self.table, digests = self._begun()

        def record(_: Sequence[tuple[_Piece, Outcome]]) -> None:
            self.unit.keep(digests.to_bytes(self.table), self._done_rows(digests), self._total_rows())

        for piece, outcome in resumable(self._waves(digests), self._do, record):
            _add(digests, piece, outcome)
        if self.table.path.has_versions and self._is_worth_roots(digests):
            self._root(digests)
        return self.table, digests

    def _waves(self, digests: Digests) -> Iterator[Sequence[_Piece]]:
        size = _PIECES_PER_SLOT * self._parallel
        waves = pending(self._pieces(digests), size, lambda piece: piece.number in digests.done)
        for number, wave in enumerate(waves):
            if number:
                self.unit.rest(self.options.pause)
            yield wave

    def _do(self, wave: Sequence[_Piece]) -> Iterator[tuple[_Piece, Outcome]]:
        yield from zip(wave, run_dealt(self.spark, [piece.work for piece in wave]), strict=True)

    @property
    def _parallel(self) -> int:
        return slots(self.spark)

    @property
    def _pace(self) -> float | None:
        return rate_of_a_task(self.spark, self.options.max_rows_per_second)

    def _begun(self) -> tuple[TableIndexes, Digests]:
        kept = None if self.unit.kept is None else kept_digests(self.table, self.unit.kept)
        if kept is not None:
            return kept
        rows = self.table.estimated_rows
        buckets = bucket_count(rows)
        piece = _PIECE_ROWS if self._pace is None else min(_PIECE_ROWS, max(1, int(self._pace * 10)))
        most = max(self._parallel, (rows or 0) // piece)
        indexes = [IndexDigests(Tally.empty(buckets), Tally.empty(buckets)) for _ in self.table.indexes]
        return self.table, Digests(buckets, most, indexes)

    def _pieces(self, digests: Digests) -> list[_Piece]:
        found: list[tuple[int | None, Work]] = [(None, work) for work in self._of_table(digests)]
        found += [
            (number, DigestIndex(index.path, part, digests.buckets, self._pace))
            for number, index in enumerate(self.table.indexes)
            for part in index.path.parts(digests.most)
        ]
        return [_Piece(number, *piece) for number, piece in enumerate(found)]

    def _of_table(self, digests: Digests, *, rooted: bool = False) -> list[Work]:
        table = self.table
        parts = table.path.parts(digests.most)
        return [DigestTable(table.path, table.read, part, digests.buckets, self._pace, rooted) for part in parts]

    def _is_worth_roots(self, digests: Digests) -> bool:
        most = max((len(index.differing()) for index in digests.indexes if index.error is None), default=0)
        return most > digests.buckets * _ROOTED_FROM

    def _root(self, digests: Digests) -> None:
        """Digests the table again, with the addresses that entries hold for rows that were updated in place."""
        tallies = [Tally.empty(digests.buckets) for _ in digests.indexes]
        for outcome in run_dealt(self.spark, self._of_table(digests, rooted=True)):
            for total, tally in zip(tallies, outcome.only().tallies, strict=True):
                total.add(tally)
        for index, tally in zip(digests.indexes, tallies, strict=True):
            index.expected = tally

    def _done_rows(self, digests: Digests) -> int:
        return digests.rows + sum(index.entries for index in digests.indexes)

    def _total_rows(self) -> int | None:
        rows = self.table.estimated_rows
        return None if rows is None else rows * (1 + len(self.table.indexes))


def _add(digests: Digests, piece: _Piece, outcome: Outcome) -> None:
    """Adds what came of a piece. An error of the table is raised; one of an index is its own."""
    if piece.of is not None and outcome.error is not None:
        digests.indexes[piece.of].error = outcome.error
        return
    found: Digested = outcome.only()
    digests.done.add(piece.number)
    if piece.of is None:
        digests.rows += found.rows
        for index, tally in zip(digests.indexes, found.tallies, strict=True):
            index.expected.add(tally)
    else:
        digests.indexes[piece.of].held.add(found.tallies[0])
        digests.indexes[piece.of].entries += found.rows
