"""Cutting a table by estimates: any spread of keys, estimates that are out by a constant factor."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tieout.connectors.mysql.key_sampling import equal_parts

KEYS = st.one_of(
    st.sets(st.integers(-(2**63), 2**64 - 1), min_size=200, max_size=400),
    st.builds(
        lambda start, there: {*range(start, start + 200), *range(there, there + 100)},
        st.integers(-1_000, 1_000),
        st.integers(10**6, 10**18),
    ),
).map(sorted)


def cut(keys: list[int], parts: int, factor: int = 1, most_dives: int = 100_000) -> list[int]:
    def estimate(low: int, high: int) -> int:
        rows = bisect_right(keys, high) - bisect_right(keys, low)
        return min(max(1, rows * factor), len(keys) * factor // 2 or 1)  # InnoDB says no more than half a table

    return equal_parts(keys[0] - 1, keys[-1], parts, estimate, most_dives)


@given(KEYS, st.integers(2, 20), st.integers(1, 3))
def test_parts_cover_the_table_and_are_about_alike(keys: list[int], parts: int, factor: int) -> None:
    ends = cut(keys, parts, factor)

    assert (ends[0], ends[-1]) == (keys[0] - 1, keys[-1])
    assert ends == sorted(set(ends))
    sizes = [bisect_right(keys, high) - bisect_right(keys, low) for low, high in pairwise(ends)]
    assert sum(sizes) == len(keys)
    assert max(sizes) <= 2.1 * len(keys) / parts + 1


@given(KEYS)
def test_too_many_dives_are_not_made(keys: list[int]) -> None:
    assert cut(keys, 20, most_dives=10) == []
