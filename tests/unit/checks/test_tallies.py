"""Tallies are zero exactly if the same rows were added and taken away, whatever their order."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tieout.checks.indexes.index_fingerprints import Tally

BUCKETS = 8
PRINTS = st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1)), max_size=40)


def tally(prints: list[tuple[int, int]]) -> Tally:
    words = np.array(prints, dtype=np.uint64).reshape(-1, 2)
    result = Tally.empty(BUCKETS)
    result.take(words, (words[:, 1] % BUCKETS).astype(np.uint32))
    return result


@given(PRINTS, st.randoms())
def test_the_same_rows_in_another_order_leave_nothing(prints: list[tuple[int, int]], random: object) -> None:
    shuffled = list(prints)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    left = tally(prints)
    left.subtract(tally(shuffled))
    assert left.unbalanced() == frozenset()


@given(PRINTS, st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1)))
def test_a_row_more_is_seen_in_its_bucket(prints: list[tuple[int, int]], more: tuple[int, int]) -> None:
    left = tally(prints)
    left.subtract(tally([*prints, more]))
    assert left.unbalanced() == {more[1] % BUCKETS}


def test_two_rows_more_do_not_cancel() -> None:
    """As they would under XOR; nor does a row that only the one has, with one that only the other has."""
    assert tally([(5, 8), (5, 8)]).unbalanced() == {0}
    other = tally([(5, 8), (5, 16)])
    other.subtract(tally([(6, 8), (5, 16)]))
    assert other.unbalanced() == {0}


@given(PRINTS)
def test_kept_and_read_again(prints: list[tuple[int, int]]) -> None:
    left = tally(prints)
    left.subtract(Tally.from_bytes(tally(prints).to_bytes()))
    assert left.unbalanced() == frozenset()


def test_sums_that_go_round() -> None:
    """Of the largest words, too: they are added modulo 2^64, and as they came in one tally or in several."""
    rows = [(2**64 - 1, 2**64 - 1)] * 1000
    whole, parts = tally(rows), tally(rows[:300])
    assert whole.sums[:, 7].tolist() == [2**64 - 1000] * 2
    parts.add(tally(rows[300:]))
    whole.subtract(parts)
    assert whole.unbalanced() == frozenset()
