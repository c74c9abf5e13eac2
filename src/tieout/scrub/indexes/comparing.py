"""The indexes of one table against the table: digests of all of them from one scan, then only what differs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from tieout.connectors.checking import IndexInfo, Path, TablePath
from tieout.errors import TieoutError
from tieout.model.digests import Digest
from tieout.scrub.indexes.mismatches import MOST, Mismatch, find_mismatches
from tieout.scrub.indexes.projection import TableColumns
from tieout.scrub.indexes.reading import Digested, DigestIndex, DigestTable, ScanIndex, ScanTable
from tieout.spark.work import Outcome, Work, run_work
from tieout.verify.bucketing import add_buckets, bucket_count


@dataclass(frozen=True)
class ReadableIndex:
    """An index, and the path that leads through it."""

    info: IndexInfo
    path: Path


@dataclass(frozen=True)
class CheckOptions:
    """`recheck_times` looks at what seems wrong, `recheck_after` seconds apart, before it is called so."""

    rows_per_second: float | None = None
    recheck_after: float = 2.0
    recheck_times: int = 3


@dataclass
class Compared:
    """What came of one index. `unsettled` disagreed at every look, each time otherwise. `cut`: there may be more.

    `error` is what kept the index from being read.
    """

    rows: int = 0
    entries: int = 0
    mismatches: list[Mismatch] = field(default_factory=list)
    unsettled: int = 0
    cut: bool = False
    error: TieoutError | None = None


@dataclass(frozen=True)
class TableIndexes:
    """A table with some of its indexes. `read` is for digests, `described` for reports: with the rows' keys."""

    path: TablePath
    read: TableColumns
    described_path: TablePath
    described: TableColumns
    indexes: Sequence[ReadableIndex]


Buckets = dict[int, Digest]
Places = dict[tuple[int, object], Mismatch]


@dataclass
class IndexComparison:
    """`rest` waits so many seconds, or raises to end it all."""

    spark: SparkSession
    table: TableIndexes
    options: CheckOptions
    rest: Callable[[float], None]

    def run(self) -> list[Compared]:
        """In the order of the indexes. An error of the table's is raised."""
        compared, wanted = self._digested()
        if any(wanted):
            self._settle(compared, wanted)
        return compared

    @property
    def _parallel(self) -> int:
        return max(1, self.spark.sparkContext.defaultParallelism)

    @property
    def _buckets(self) -> int:
        return bucket_count(self.table.indexes[0].info.table.estimated_rows)

    def _digested(self) -> tuple[list[Compared], list[frozenset[int]]]:
        """How much there is, and the buckets of each index that differ."""
        table, most, rate = self.table, self._parallel, self.options.rows_per_second
        rows: list[Work] = [
            DigestTable(table.path, table.read, part, self._buckets, rate) for part in table.path.parts(most)
        ]
        entries = [
            (number, DigestIndex(index.path, part, self._buckets, rate))
            for number, index in enumerate(table.indexes)
            for part in index.path.parts(most)
        ]
        outcomes = self._done([*rows, *(entry for _, entry in entries)])
        expected: list[Buckets] = [{} for _ in table.indexes]
        held: list[Buckets] = [{} for _ in table.indexes]
        compared = [Compared() for _ in table.indexes]
        for outcome in outcomes[: len(rows)]:
            digested: Digested = outcome.only()
            for each, total, more in zip(compared, expected, digested.buckets, strict=True):
                add_buckets(total, more)
                each.rows += digested.rows
        for (number, _), outcome in zip(entries, outcomes[len(rows) :], strict=True):
            if outcome.error is not None:
                compared[number].error = outcome.error
                continue
            digested = outcome.only()
            add_buckets(held[number], digested.buckets[0])
            compared[number].entries += digested.rows
        wanted = [
            frozenset(_differing(a, b)) if each.error is None else frozenset()
            for a, b, each in zip(expected, held, compared, strict=True)
        ]
        return compared, wanted

    def _settle(self, compared: list[Compared], wanted: list[frozenset[int]]) -> None:
        """What disagrees is looked at again: what is being written agrees at one of the looks, or changes."""
        suspects = self._mismatches(wanted)
        cut = len(suspects) == MOST
        settled = suspects
        for _ in range(self.options.recheck_times):
            if not suspects:
                break
            self.rest(self.options.recheck_after)
            concerned = {index for index, _ in suspects}
            again = self._mismatches([w if n in concerned else frozenset() for n, w in enumerate(wanted)])
            settled = {place: m for place, m in again.items() if suspects.get(place) == m}
            suspects = {place: m for place, m in again.items() if place in suspects}
            if len(settled) == len(suspects):
                break
        for (index, _), mismatch in settled.items():
            compared[index].mismatches.append(mismatch)
        for index, _ in suspects.keys() - settled.keys():
            compared[index].unsettled += 1
        for each in compared:
            each.cut = cut and bool(each.mismatches)

    def _mismatches(self, wanted: Sequence[frozenset[int]]) -> Places:
        table, most = self.table, self._parallel
        work: list[Work] = [
            ScanTable(table.described_path, table.described, part, self._buckets, tuple(wanted))
            for part in table.described_path.parts(most)
        ]
        work += [
            ScanIndex(index.path, number, part, self._buckets, wanted[number])
            for number, index in enumerate(table.indexes)
            if wanted[number]
            for part in index.path.parts(most)
        ]
        return {mismatch.place: mismatch for mismatch in find_mismatches(self.spark, self._dealt(work))}

    def _done(self, work: Sequence[Work]) -> list[Outcome]:
        """The outcomes in the order of the work."""
        dealt = run_work(self.spark, self._dealt(work))
        return [dealt[number % len(dealt)][number // len(dealt)] for number in range(len(work))]

    def _dealt(self, work: Sequence[Work]) -> list[Sequence[Work]]:
        """To a few tasks, like cards: to start one for each piece takes longer than the piece, if indexes are small."""
        tasks = min(len(work), 2 * self._parallel)
        return [work[first::tasks] for first in range(tasks)]


def _differing(a: Buckets, b: Buckets) -> set[int]:
    return {bucket for bucket in a.keys() | b.keys() if a.get(bucket) != b.get(bucket)}
