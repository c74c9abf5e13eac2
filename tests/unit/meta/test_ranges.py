"""Ranges are planned once, recorded with their differences all or nothing, and loaded to go on."""

from __future__ import annotations

import pytest

from tieout.errors import MetaStoreError
from tieout.meta import FinishedRange, Job, JobTable, MetaStore, RangeState, Side, StoredRange, TableState
from tieout.model.differences import Difference, DifferenceCounts, DifferenceKind
from tieout.model.digests import MODULUS, Digest
from tieout.model.keys import EVERYTHING, KeyRange


def missing(key: int) -> Difference:
    return Difference("main.orders", DifferenceKind.MISSING, {"id": str(key)})


def test_tables_keep_plan_seed_and_result(store: MetaStore, job: Job) -> None:
    store.tables.add(job.id, [("a", "b"), (None, "only there")])
    store.tables.start(job.id, 0, plan={"strategy": "pull"}, seed="17")
    store.tables.finish(job.id, 0, {"verdict": "equal"})
    assert store.tables.all(job.id) == (
        JobTable(0, "a", "b", TableState.DONE, {"strategy": "pull"}, "17", {"verdict": "equal"}),
        JobTable(1, None, "only there"),
    )
    with pytest.raises(ValueError, match="has no table 2"):
        store.tables.finish(job.id, 2, {})


def test_bounds_come_back_as_they_were_planned(store: MetaStore, job: Job) -> None:
    bounds = [KeyRange(None, ("9223372036854775808", "é\0\udc80")), KeyRange(("1", ""), None), EVERYTHING]
    store.ranges.plan(job.id, 0, bounds)
    assert store.ranges.load(job.id, 0) == tuple(StoredRange(i, keys=keys) for i, keys in enumerate(bounds))


def test_a_recorded_range_comes_back_whole(store: MetaStore, job: Job) -> None:
    store.ranges.plan(job.id, 0, [EVERYTHING], side=Side.SOURCE)
    finished = FinishedRange(
        0,
        Side.SOURCE,
        RangeState.COMPARED,
        Digest(1 << 40, MODULUS - 1),
        Digest(0, 0),
        bytes(range(256)),
        1 << 40,
        0.25,
        DifferenceCounts(1, 2, 3),
    )
    store.ranges.record(job.id, 0, [finished])
    (stored,) = store.ranges.load(job.id, 0, side=Side.SOURCE)
    for name in ("ordinal", "side", "state", "source_digest", "target_digest", "buckets", "rows", "seconds", "counts"):
        assert getattr(stored, name) == getattr(finished, name), name
    (light,) = store.ranges.load(job.id, 0, side=Side.SOURCE, buckets=False)
    assert (light.buckets, light.rows) == (None, 1 << 40)


def test_a_resumed_job_sees_what_is_left(store: MetaStore, job: Job) -> None:
    store.ranges.record(job.id, 0, [FinishedRange(i, source_digest=Digest(5, 7), rows=5) for i in (0, 3, 9)])
    left = [stored.ordinal for stored in store.ranges.load(job.id, 0) if stored.state is RangeState.PLANNED]
    assert left == [1, 2, 4, 5, 6, 7, 8]
    assert store.tables.all(job.id)[0].rows_done == 15


def test_recording_again_changes_nothing(store: MetaStore, job: Job) -> None:
    finished = [FinishedRange(i, rows=10, differences=[missing(i), missing(100 + i)]) for i in range(4)]
    for _ in range(3):
        store.ranges.record(job.id, 0, finished)
    assert store.differences.count(job.id) == DifferenceCounts(missing=8)
    assert store.tables.all(job.id)[0].rows_done == 40


def test_another_result_replaces_that_range_and_no_other(store: MetaStore, job: Job) -> None:
    store.ranges.record(job.id, 0, [FinishedRange(i, rows=10, differences=[missing(i)]) for i in range(3)])
    store.ranges.record(job.id, 0, [FinishedRange(1, rows=4, state=RangeState.SUSPECT)])
    assert [difference.key["id"] for difference in store.differences.iterate(job.id)] == ["0", "2"]
    assert store.tables.all(job.id)[0].rows_done == 24


def test_differences_appended_in_parts_stay_when_the_range_is_recorded(store: MetaStore, job: Job) -> None:
    store.differences.append(job.id, 0, 4, [missing(1), missing(2)])
    store.differences.append(job.id, 0, 4, [missing(3)])
    store.ranges.record(job.id, 0, [FinishedRange(4, state=RangeState.COMPARED, differences=None)])
    assert [difference.key["id"] for difference in store.differences.iterate(job.id)] == ["1", "2", "3"]
    store.differences.clear(job.id, 0, 4)
    assert list(store.differences.iterate(job.id)) == []


def test_it_is_all_or_nothing(store: MetaStore, job: Job) -> None:
    """The last difference can't be written; the digests before it are then not kept either."""
    bad = Difference("main.orders", DifferenceKind.MISSING, {"id": "1"}, copies=None)  # type: ignore[arg-type]
    before = store.jobs.get(job.id)
    with pytest.raises(MetaStoreError):
        store.ranges.record(job.id, 0, [FinishedRange(0, rows=1), FinishedRange(1, differences=[missing(1), bad])])
    assert {stored.state for stored in store.ranges.load(job.id, 0)} == {RangeState.PLANNED}
    assert list(store.differences.iterate(job.id)) == []
    assert store.tables.all(job.id)[0].rows_done == 0
    assert store.jobs.get(job.id) == before


def test_a_range_that_was_never_planned_is_a_mistake(store: MetaStore, job: Job) -> None:
    with pytest.raises(ValueError, match="never planned"):
        store.ranges.record(job.id, 0, [FinishedRange(0), FinishedRange(10)])
    with pytest.raises(ValueError, match="twice in one call"):
        store.ranges.record(job.id, 0, [FinishedRange(0), FinishedRange(0)])


def test_planning_anew_forgets_that_side_alone(store: MetaStore, job: Job) -> None:
    store.ranges.plan(job.id, 0, [EVERYTHING], side=Side.SOURCE)
    store.ranges.record(job.id, 0, [FinishedRange(0, Side.SOURCE, rows=7)])
    store.ranges.record(job.id, 0, [FinishedRange(0, rows=10, differences=[missing(1)])])
    store.ranges.plan(job.id, 0, [EVERYTHING])
    assert [(stored.side, stored.rows) for stored in store.ranges.load(job.id, 0)] == [(Side.BOTH, 0), (Side.SOURCE, 7)]
    assert list(store.differences.iterate(job.id)) == []
    assert store.tables.all(job.id)[0].rows_done == 7


def test_thousands_of_ranges_in_one_call(store: MetaStore, job: Job) -> None:
    store.ranges.plan(job.id, 0, [EVERYTHING] * 2500)
    store.ranges.record(job.id, 0, [FinishedRange(i, rows=1, differences=[missing(i)]) for i in range(2500)])
    assert store.tables.all(job.id)[0].rows_done == 2500
    assert store.differences.count(job.id, 0).missing == 2500


def test_recording_is_a_sign_of_life(store: MetaStore, job: Job) -> None:
    store.ranges.record(job.id, 0, [FinishedRange(0)])
    assert store.jobs.get(job.id).heartbeat_at > job.heartbeat_at
