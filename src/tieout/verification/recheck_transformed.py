"""Rechecks rows of tables that Spark filters, computes or merges.

The driver does, because Spark has to project the rows that are looked up again. Rows of other tables are rechecked
where they were compared (localise).
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count

from pyspark.sql import DataFrame, SparkSession

from tieout.connectors.protocols.endpoint import NeedsCautiousReader
from tieout.errors import TieoutError
from tieout.model.keys import Key
from tieout.runtime.dispatch import deal
from tieout.runtime.recheck import RecheckPolicy, recheck
from tieout.spark.executor_work import Bucketed, Work, interruptible, job_errors, map_batches, work_frame
from tieout.verification.bucket_rows import CompareBuckets, Sent, Suspects
from tieout.verification.localise import Found, Localised, Rechecking, shape_of
from tieout.verification.parts import is_transformed
from tieout.verification.plan import Side, TablePlan
from tieout.verification.rows import look_up_batches
from tieout.verification.transformed import looked_up_rows, sent_rows

MOST_TOGETHER = 100_000
"""Suspects that are rechecked together."""


@dataclass(frozen=True)
class LookUpRows:
    """The rows of a side with these keys, by bucket. `hashes` are the hashes of the keys, in their order."""

    side: Side
    is_source: bool
    keys: tuple[Key, ...]
    hashes: tuple[bytes, ...]
    part: int
    buckets: int

    def run(self) -> Iterator[Bucketed]:
        reader, everything = self.side.reader, frozenset(range(self.buckets))
        for attempt in count():
            try:
                for batch in look_up_batches(reader, self.side.scan, self.keys, self.hashes):
                    rows = sent_rows(batch, self.side.scan, self.is_source, self.buckets, everything)
                    for bucket, found in rows.items():
                        yield Bucketed(bucket, Sent(self.is_source, self.part, attempt, tuple(found)))
            except NeedsCautiousReader:
                reader = reader.cautious()
                for bucket in everything:
                    yield Bucketed(bucket, Sent(self.is_source, self.part, attempt + 1))
            else:
                return


@dataclass(frozen=True)
class TransformedRecheck:
    """Looks suspects up again on both sides, until they agree once or have differed each time."""

    spark: SparkSession
    plan: TablePlan
    rechecking: Rechecking
    limit: int | None
    tasks: int

    def of(self, suspects: Mapping[bytes, Key]) -> Localised:
        """What differs for certain among these rows."""
        # A row that agrees once is equal: only a row that differs every time counts.
        policy = RecheckPolicy(self.rechecking.after, self.rechecking.times, agreeing=self.rechecking.times + 1)
        certain = Found(shape_of(self.plan), self.limit)
        left = count(policy.looks - 1, -1)
        last: list[Suspects] = []

        def look_again(keys: Mapping[bytes, Key]) -> dict[bytes, Key]:
            is_last = not next(left)
            certain.rechecked += len(keys)
            found = self._compared(keys)
            if is_last:
                last.extend(found)
            return {hashed: key for each in found for hashed, key in each.keys.items() if hashed in keys}

        recheck(suspects, look_again, policy, time.sleep)
        for each in last:
            certain.take(each.all)
        return certain.result()

    def _compared(self, keys: Mapping[bytes, Key]) -> list[Suspects]:
        plan = self.plan
        rows = self._rows(plan.source, True, keys).unionByName(self._rows(plan.target, False, keys))
        compare = CompareBuckets(plan, shape_of(plan), self.limit, self.rechecking, collects=True)
        together = rows.repartition(self.tasks, "bucket").sortWithinPartitions("bucket")
        with job_errors():
            compared = map_batches(together, compare.run, "payload binary")
            found = [pickle.loads(row.payload) for row in interruptible(self.spark, compared.collect)]
        for each in found:
            if isinstance(each, TieoutError):
                raise each
        return found

    def _rows(self, side: Side, is_source: bool, keys: Mapping[bytes, Key]) -> DataFrame:
        if is_transformed(side):
            return looked_up_rows(self.spark, side, is_source, self.plan.buckets, keys, self.tasks)
        asked = list(keys.items())
        hands = deal(asked, self.tasks) if side.reader.finds(side.scan) else [asked]
        work: list[list[Work]] = []
        for part, hand in enumerate(hands):
            hashes, own = tuple(each for each, _ in hand), tuple(key for _, key in hand)
            work.append([LookUpRows(side, is_source, own, hashes, part, self.plan.buckets)])
        return work_frame(self.spark, work)
