"""Compares the indexes of one table with the table: first the digests of all of them from one scan, then only what
differs.

Spark brings the rows and entries of what differs together at their addresses.
"""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - as everyone calls it

from tieout.checks.checked import Unit
from tieout.checks.indexes.digest_stage import DigestStage, TableIndexes
from tieout.checks.indexes.work import CELLS, ENTRY, EXCLUDED, INVISIBLE, ROW, ScanIndex, ScanTable, TogetherAtOnce
from tieout.checks.options import CheckOptions
from tieout.errors import TieoutError
from tieout.model.truncated import restored
from tieout.runtime.dispatch import deal, slots
from tieout.runtime.recheck import RecheckPolicy, recheck
from tieout.spark.executor_work import Work, cell_name, interruptible, job_errors, work_frame

MOST = 50_000
"""Disagreements listed for one index: redefining a function that it uses makes every entry wrong."""

_SIDE, _PLACE, _PRINT, _VALUES, _KEY = map(cell_name, range(CELLS))

Values = tuple[str | None, ...]
Place = tuple[int, object]
"""An index's number, and an address in it."""

AT_ONE_MOMENT, AT_NO_MOMENT = 2, 3
"""How many readings in a row must agree, where rows and entries are read at one moment, and where they are not.

Two readings are not enough where the engine reuses addresses within a second: a row that was written meanwhile may be
back at its address and its entry not yet, as in the reading before.
"""


@dataclass(frozen=True, slots=True)
class RowThere:
    """A row of the table: the values of the index's columns, and the row's key."""

    print: str
    values: Values
    key: Values


@dataclass(frozen=True, slots=True)
class EntryThere:
    print: str
    values: Values


@dataclass(frozen=True, slots=True)
class Mismatch:
    """All rows and entries at one address of one index. `rows` should have an entry; `excluded` should have none.

    Without an address (None), rows and entries are together because they are equal, and there are more of one.
    """

    index: int
    address: Values | None
    rows: tuple[RowThere, ...]
    excluded: tuple[RowThere, ...]
    entries: tuple[EntryThere, ...]

    @property
    def place(self) -> Place:
        alike = [*(row.print for row in self.rows), *(entry.print for entry in self.entries)]
        return self.index, self.address or alike[0]


Places = dict[Place, Mismatch]
"""Disagreements by the place where they are."""


def find_mismatches(spark: SparkSession, tasks: Sequence[Sequence[Work]]) -> list[Mismatch]:
    """Up to MOST disagreements of each index, the same ones in each reading. The tasks' work yields Cells of both
    sides.
    """
    first = Window.partitionBy("bucket").orderBy(F.col("payload").isNull(), _PLACE)  # an error is never what is cut off

    def collected() -> list[Row]:
        found = _disagreeing(work_frame(spark, tasks, CELLS))
        return found.withColumn("number", F.row_number().over(first)).where(F.col("number") <= MOST).collect()

    with job_errors():
        found = interruptible(spark, collected)
    for row in found:
        if row.payload is not None:
            raise pickle.loads(row.payload)
    return [_mismatch(row) for row in found]


def _disagreeing(frame: DataFrame) -> DataFrame:
    """One row for each address at which the two sides differ; an error has a row of its own.

    Fingerprints tell NULL from every value, and every row and every entry counts: they do not cancel each other.
    """
    side = F.col(_SIDE)
    counted = F.when(side.isin(ROW, ENTRY), F.col(_PRINT))
    grouped = frame.groupBy("bucket", _PLACE).agg(
        F.first("payload", ignorenulls=True).alias("payload"),
        F.count_if(side == ROW).alias("rows"),
        F.count_if(side == ENTRY).alias("entries"),
        F.count_if(side == EXCLUDED).alias("excluded"),
        F.count_if(side == INVISIBLE).alias("invisible"),
        (F.min(counted) == F.max(counted)).alias("alike"),
        F.collect_list(F.struct(_SIDE, _PRINT, _VALUES, _KEY)).alias("found"),
    )
    nobody = F.col("entries") == 0
    agree = (F.col("rows") == F.col("entries")) & F.col("alike")
    unseen = (F.col("rows") == 0) & (F.col("excluded") == 0) & (F.col("invisible") > 0)
    fine = agree | ((F.col("rows") == 0) & nobody) | unseen
    return grouped.where(F.col("payload").isNotNull() | ~F.coalesce(fine, F.lit(False)))


def _mismatch(row: Row) -> Mismatch:
    by_side: dict[str, list[tuple[str, Values, Values]]] = {ROW: [], EXCLUDED: [], ENTRY: [], INVISIBLE: []}
    for side, mark, values, key in row.found:
        by_side[side].append((mark, _values(values), _values(key)))
    place = row[_PLACE]
    return Mismatch(
        row.bucket,
        _values(place) if place.startswith("[") else None,
        tuple(RowThere(*each) for each in sorted(by_side[ROW])),
        tuple(RowThere(*each) for each in sorted(by_side[EXCLUDED])),
        tuple(EntryThere(mark, values) for mark, values, _ in sorted(by_side[ENTRY])),
    )


def _values(text: str) -> Values:
    return tuple(map(restored, json.loads(text)))


@dataclass
class Compared:
    """The outcome of one index. `unstable` disagreements changed on every recheck. `cut`: there may be more.

    `error` kept the index from being read.
    """

    rows: int = 0
    entries: int = 0
    mismatches: list[Mismatch] = field(default_factory=list)
    unstable: int = 0
    cut: bool = False
    error: TieoutError | None = None


@dataclass
class IndexComparison:
    spark: SparkSession
    table: TableIndexes
    options: CheckOptions
    unit: Unit

    def run(self) -> list[Compared]:
        """The outcomes in the order of the indexes. Raises an error of the table."""
        self.table, digests = DigestStage(self.spark, self.table, self.options, self.unit).run()
        compared = [Compared(digests.rows, each.entries, error=each.error) for each in digests.indexes]
        wanted = [each.differing() if each.error is None else frozenset() for each in digests.indexes]
        if any(wanted):
            self._buckets, self._most = digests.buckets, digests.most
            self._recheck(compared, wanted)
        return compared

    def _recheck(self, compared: list[Compared], wanted: list[frozenset[int]]) -> None:
        """Rechecks disagreements: what is being written agrees in one of the readings, or changes."""
        suspects = self._mismatches(wanted)
        found = Counter(index for index, _ in suspects)

        def again(places: Mapping[Place, Mismatch]) -> Places:
            concerned = {index for index, _ in places}
            return self._mismatches([w if n in concerned else frozenset() for n, w in enumerate(wanted)])

        agreeing = AT_ONE_MOMENT if self.table.described_path.can_share_snapshot else AT_NO_MOMENT
        policy = RecheckPolicy(self.options.recheck_after, self.options.recheck_times, agreeing, same_value=True)
        rechecked = recheck(suspects, again, policy, self.unit.rest)
        for mismatch in self._at_one_moment(wanted, tuple(rechecked.certain.values())):
            compared[mismatch.index].mismatches.append(mismatch)
        for index, _ in rechecked.unstable:
            compared[index].unstable += 1
        for index, each in enumerate(compared):
            each.cut = found[index] >= MOST

    def _at_one_moment(self, wanted: Sequence[frozenset[int]], certain: Sequence[Mismatch]) -> Sequence[Mismatch]:
        """What is wrong in one view of both sides, where the engine has such a view.

        A value that alternates is wrong in the same way twice, if table and index are read at two moments.
        """
        path = self.table.described_path
        if not certain or not path.can_share_snapshot:
            return certain
        concerned = {mismatch.index for mismatch in certain}
        work = self._work([w if n in concerned else frozenset() for n, w in enumerate(wanted)])
        return find_mismatches(self.spark, [[TogetherAtOnce(path, tuple(work))]])

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
