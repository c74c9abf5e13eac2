"""The indexes of one table against the table: digests of all of them from one scan, then only what differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from tieout.checks.indexes.digesting import DigestStage, TableIndexes
from tieout.checks.indexes.mismatches import AT_NO_MOMENT, AT_ONE_MOMENT, MOST, Mismatch, Place, Places, find_mismatches
from tieout.checks.indexes.reading import ScanIndex, ScanTable, TogetherAtOnce
from tieout.checks.options import CheckOptions
from tieout.checks.units import Unit
from tieout.connectors.protocols.paths import AtMoments
from tieout.errors import TieoutError
from tieout.runtime.dispatch import deal, slots
from tieout.runtime.recheck import RecheckPolicy, recheck


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


@dataclass
class IndexComparison:
    spark: SparkSession
    table: TableIndexes
    options: CheckOptions
    unit: Unit

    def run(self) -> list[Compared]:
        """In the order of the indexes. An error of the table's is raised."""
        self.table, digests = DigestStage(self.spark, self.table, self.options, self.unit).run()
        compared = [Compared(digests.rows, each.entries, error=each.error) for each in digests.indexes]
        wanted = [each.differing() if each.error is None else frozenset() for each in digests.indexes]
        if any(wanted):
            self._buckets, self._most = digests.buckets, digests.most
            self._settle(compared, wanted)
        return compared

    def _settle(self, compared: list[Compared], wanted: list[frozenset[int]]) -> None:
        """What disagrees is looked at again: what is being written agrees at one of the looks, or changes."""
        suspects = self._mismatches(wanted)
        found = Counter(index for index, _ in suspects)

        def again(places: Mapping[Place, Mismatch]) -> Places:
            concerned = {index for index, _ in places}
            return self._mismatches([w if n in concerned else frozenset() for n, w in enumerate(wanted)])

        agreeing = AT_ONE_MOMENT if self._has_moments else AT_NO_MOMENT
        policy = RecheckPolicy(self.options.recheck_after, self.options.recheck_times, agreeing, same_value=True)
        rechecked = recheck(suspects, again, policy, self.unit.rest)
        for mismatch in self._at_one_moment(wanted, tuple(rechecked.certain.values())):
            compared[mismatch.index].mismatches.append(mismatch)
        for index, _ in rechecked.unstable:
            compared[index].unsettled += 1
        for index, each in enumerate(compared):
            each.cut = found[index] >= MOST

    def _at_one_moment(self, wanted: Sequence[frozenset[int]], settled: Sequence[Mismatch]) -> Sequence[Mismatch]:
        """Those that are wrong in one view of both sides, where the engine has such a thing.

        A value that goes to and fro is wrong in the same way at two looks, if table and index are of two moments.
        """
        path = self.table.described_path
        if not settled or not self._has_moments or not isinstance(path, AtMoments):
            return settled
        concerned = {mismatch.index for mismatch in settled}
        work = self._work([w if n in concerned else frozenset() for n, w in enumerate(wanted)])
        return find_mismatches(self.spark, [[TogetherAtOnce(path, tuple(work))]])

    @property
    def _has_moments(self) -> bool:
        path = self.table.described_path
        return isinstance(path, AtMoments) and path.freezes

    def _mismatches(self, wanted: Sequence[frozenset[int]]) -> Places:
        found = find_mismatches(self.spark, deal(self._work(wanted), 2 * slots(self.spark)))
        return {mismatch.place: mismatch for mismatch in found}

    def _work(self, wanted: Sequence[frozenset[int]]) -> list[ScanTable | ScanIndex]:
        table, most = self.table, self._most
        work: list[ScanTable | ScanIndex] = [
            ScanTable(table.described_path, table.described, part, self._buckets, tuple(wanted))
            for part in table.described_path.parts(most)
        ]
        work += [
            ScanIndex(index.path, number, part, self._buckets, wanted[number])
            for number, index in enumerate(table.indexes)
            if wanted[number]
            for part in index.path.parts(most)
        ]
        return work
