"""The order of resumable work: what is recorded as done is done, and its caller has seen all of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tieout.runtime.ranges import LARGEST_CHUNK, SMALLEST_CHUNK, next_chunk_rows, pending, resumable


def test_waves_leave_out_what_is_done() -> None:
    assert list(pending(range(7), 2, lambda unit: unit in (1, 4))) == [[0, 2], [3, 5], [6]]
    assert list(pending([], 2)) == []


def test_a_wave_is_recorded_after_its_last_result_was_taken_and_before_the_next_is_asked_for() -> None:
    told: list[str] = []

    def waves() -> Iterator[list[int]]:
        for wave in ([1, 2], [3]):
            told.append(f"wave {wave}")
            yield wave

    for result in resumable(waves(), iter, lambda finished: told.append(f"recorded {finished}")):
        told.append(f"stored {result}")
    expected = ["wave [1, 2]", "stored 1", "stored 2", "recorded [1, 2]", "wave [3]", "stored 3", "recorded [3]"]
    assert told == expected


def test_work_that_ends_early_is_not_recorded() -> None:
    """Neither if the work fails, nor if its caller does: --resume does it again."""
    recorded: list[list[int]] = []

    def fails(wave: list[int]) -> Iterator[int]:
        yield wave[0]
        raise ValueError("gone")

    with pytest.raises(ValueError, match="gone"):
        list(resumable([[1], [2]], fails, lambda finished: recorded.append(list(finished))))
    started = resumable([[1, 2]], iter, lambda finished: recorded.append(list(finished)))
    assert next(started) == 1
    started.close()
    assert recorded == []


@pytest.mark.parametrize(
    ("rows", "seconds", "expected"),
    [
        (10_000, 1.0, 10_000),
        (10_000, 0.5, 20_000),
        (10_000, 0.01, 40_000),  # four times at most
        (10_000, 60.0, 2_500),
        (4_000_000, 0.1, LARGEST_CHUNK),
        (1_000, 60.0, SMALLEST_CHUNK),
    ],
)
def test_the_next_chunk_takes_about_the_wanted_time(rows: int, seconds: float, expected: int) -> None:
    assert next_chunk_rows(rows, rows, seconds, 1.0) == expected
