"""How a table is cut: whatever is cut, nothing is left out and nothing is in two ranges."""

from hypothesis import given
from hypothesis import strategies as st

from tieout.meta import Side
from tieout.model.keys import KeyRange
from tieout.runtime.dispatch import deal
from tieout.runtime.ranges import sampled_bounds
from tieout.verification.table_state import Lane


def covers_everything_once(ranges):
    edges = [ranges[0].low, *(keys.high for keys in ranges)]
    lows = [keys.low for keys in ranges]
    return edges[0] is None and edges[-1] is None and lows[1:] == edges[1:-1] and None not in edges[1:-1]


@given(st.lists(st.lists(st.integers(0, 99), max_size=4), max_size=6))
def test_a_lane_cut_step_by_step_covers_every_key_once(steps):
    lane = Lane(Side.BOTH, 10)
    keys = iter(sorted({key for step in steps for key in step}))
    for step in steps:
        bounds = [(str(key),) for _, key in zip(step, keys, strict=False)]
        if bounds:
            lane.cut(bounds, len(bounds))
    lane.cut([], 1)
    assert lane.rest is None
    assert covers_everything_once(lane.ranges)
    assert [keys for _, keys in lane.todo] == lane.ranges
    assert [ordinal for ordinal, _ in lane.todo] == list(range(lane.planned))


def test_fewer_bounds_than_asked_for_mean_the_end():
    lane = Lane(Side.BOTH, 10)
    assert lane.cut([("5",)], 2) == [KeyRange(None, ("5",)), KeyRange(("5",), None)]
    assert lane.rest is None


@given(st.integers(2, 200), st.integers(1, 10**7), st.integers(1, 10**6))
def test_bounds_of_a_sample_are_in_order_and_inside_it(size, rows, chunk):
    sample = [str(n) for n in range(size)]
    bounds = [int(key) for (key,) in sampled_bounds(sample, rows, chunk)]
    assert bounds == sorted(set(bounds))
    assert all(0 < bound < size - 1 for bound in bounds)


@given(st.lists(st.integers()), st.integers(1, 9))
def test_dealing_loses_nothing_and_leaves_no_hand_empty(items, hands):
    parts = deal(items, hands)
    assert sorted(item for part in parts for item in part) == sorted(items)
    assert all(parts)
    assert len(parts) <= hands
