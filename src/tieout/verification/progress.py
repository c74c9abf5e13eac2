"""What a verification keeps in the meta store as it goes, so that it can go on after a crash."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import islice

from tieout.canonical.bucket_digests import add_buckets, unpack_buckets
from tieout.meta import FinishedRange, MetaStore, RangeState, StoredRange
from tieout.meta import Side as LaneSide
from tieout.model.differences import Difference
from tieout.model.digests import EMPTY
from tieout.model.keys import EVERYTHING, KeyRange
from tieout.verification.table_state import Lane, Suspect, TableRun


class Ledger:
    """One job's records. Every method is one transaction."""

    def __init__(self, store: MetaStore, job_id: str) -> None:
        self._store = store
        self._job = job_id

    def plan(self, run: TableRun, lane: Lane, first: int, keys: Sequence[KeyRange]) -> None:
        self._store.ranges.extend(self._job, run.ordinal, keys, side=lane.side, first=first)

    def record(self, finished: Sequence[tuple[TableRun, FinishedRange]]) -> None:
        """Records finished ranges: those of one table in one transaction."""
        by_table: dict[int, list[FinishedRange]] = defaultdict(list)
        for run, each in finished:
            by_table[run.ordinal].append(each)
        for ordinal, ranges in by_table.items():
            self._store.ranges.record(self._job, ordinal, ranges)

    def begin_buckets(self, run: TableRun) -> None:
        """Before the rows of a table's buckets are compared; what an earlier attempt left is forgotten."""
        self._store.ranges.plan(self._job, run.ordinal, [EVERYTHING])
        self._store.differences.clear(self._job, run.ordinal, 0)

    def add_differences(self, run: TableRun, differences: Sequence[Difference]) -> None:
        self._store.differences.append(self._job, run.ordinal, 0, differences)

    def record_buckets(self, runs: Sequence[TableRun]) -> None:
        """Records tables whose buckets were all compared, after their differences were added."""
        for run in runs:
            compared = FinishedRange(0, state=RangeState.COMPARED, counts=run.counts, differences=None)
            self._store.ranges.record(self._job, run.ordinal, [compared])

    def restore(self, run: TableRun, limit: int | None) -> None:
        """Puts a run where an earlier process left it: finished ranges are not read again."""
        for lane in run.lanes:
            for stored in self._store.ranges.load(self._job, run.ordinal, side=lane.side):
                lane.planned = stored.ordinal + 1
                lane.ranges.append(stored.keys)
                lane.rest = None if stored.keys.high is None else KeyRange(stored.keys.high, None)
                _restore_range(run, lane, stored)
        if not run.plan.aligned:
            for stored in self._store.ranges.load(self._job, run.ordinal, side=LaneSide.BOTH, buckets=False):
                if stored.state is RangeState.COMPARED and stored.counts is not None:
                    run.counts, run.buckets_compared = stored.counts, True
        if run.plan.aligned or run.buckets_compared:
            run.differences += islice(self._store.differences.iterate(self._job, run.ordinal), limit)


def _restore_range(run: TableRun, lane: Lane, stored: StoredRange) -> None:
    if stored.state is RangeState.PLANNED:
        lane.todo.append((stored.ordinal, stored.keys))
        return
    run.ranges += 1
    source, target = stored.source_digest or EMPTY, stored.target_digest or EMPTY
    run.source += source
    run.target += target
    if stored.state is RangeState.SUSPECT:
        run.suspects.append(Suspect(stored.ordinal, stored.keys, source, target))
    elif stored.counts is not None:
        run.counts += stored.counts
    if stored.buckets is not None:
        into = run.source_buckets if lane.side is LaneSide.SOURCE else run.target_buckets
        add_buckets(into, unpack_buckets(stored.buckets))
