"""Differences come back exactly, in order, a chunk at a time."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tieout.meta import FinishedRange, Job, MetaStore, Side
from tieout.model.differences import Difference, DifferenceCounts, DifferenceKind, ValuePair
from tieout.model.keys import EVERYTHING

# Any text that Python can hold: NUL, lone surrogates and all planes.
TEXT = st.text(st.characters(exclude_categories=()), max_size=12)
VALUE = st.none() | TEXT
DIFFERENCES = st.builds(
    Difference,
    table=st.just("main.orders"),
    kind=st.sampled_from(DifferenceKind),
    key=st.dictionaries(TEXT, VALUE, max_size=3),
    columns=st.dictionaries(TEXT, st.builds(ValuePair, VALUE, VALUE), max_size=3),
    copies=st.integers(1, 2**62),
)


def extra(key: int) -> Difference:
    return Difference("main.orders", DifferenceKind.EXTRA, {"id": str(key)})


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(st.lists(DIFFERENCES, max_size=6))
def test_every_value_comes_back_as_it_was(store: MetaStore, job: Job, found: list[Difference]) -> None:
    store.ranges.record(job.id, 0, [FinishedRange(0, differences=found)])
    assert list(store.differences.iterate(job.id)) == found


def test_columns_keep_their_order(store: MetaStore, job: Job) -> None:
    key = {"z": "1", "a": None, "m": ""}
    store.ranges.record(job.id, 0, [FinishedRange(0, differences=[Difference("t", DifferenceKind.EXTRA, key)])])
    assert list(next(store.differences.iterate(job.id)).key) == ["z", "a", "m"]


@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 1000])
def test_the_order_is_that_of_tables_and_ranges_not_of_recording(store: MetaStore, job: Job, chunk: int) -> None:
    store.tables.add(job.id, [("a", "a"), ("b", "b")])
    for ordinal in (0, 1):
        store.ranges.plan(job.id, ordinal, [EVERYTHING] * 12)
    store.ranges.plan(job.id, 0, [EVERYTHING], side=Side.TARGET)
    store.ranges.record(job.id, 1, [FinishedRange(11, differences=[extra(8), extra(9)])])
    store.ranges.record(job.id, 0, [FinishedRange(0, Side.TARGET, differences=[extra(7)])])
    store.ranges.record(job.id, 0, [FinishedRange(10, differences=[extra(5), extra(6)])])
    store.ranges.record(job.id, 0, [FinishedRange(2, differences=[extra(i) for i in range(5)])])
    assert list(store.differences.iterate(job.id, chunk=chunk)) == [extra(i) for i in range(10)]
    assert list(store.differences.iterate(job.id, 1, chunk=chunk)) == [extra(8), extra(9)]
    assert list(store.differences.iterate("another job")) == []


def test_reading_leaves_room_for_writing(store: MetaStore, job: Job) -> None:
    store.ranges.record(job.id, 0, [FinishedRange(1, differences=[extra(i) for i in range(10)])])
    reading = store.differences.iterate(job.id, chunk=4)
    assert list(islice(reading, 2)) == [extra(0), extra(1)]
    store.ranges.record(job.id, 0, [FinishedRange(2, differences=[extra(99)])])
    assert list(reading) == [*(extra(i) for i in range(2, 10)), extra(99)]


def test_counts_are_of_rows_by_kind(store: MetaStore, job: Job) -> None:
    found = [extra(1), extra(2), Difference("t", DifferenceKind.MISSING, {"a": "1"}, copies=40)]
    store.ranges.record(job.id, 0, [FinishedRange(0, differences=found)])
    assert store.differences.count(job.id) == DifferenceCounts(missing=40, extra=2, changed=0)
    assert store.differences.count(job.id, 1) == DifferenceCounts()
