from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tieout.config.durations import parse_duration, parse_positive_duration, seconds_text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("500ms", 0.5),
        ("10s", 10),
        ("30m", 1800),
        ("2h", 7200),
        ("1d", 86400),
        ("1h30m", 5400),
        ("1.5", 1.5),
        (" 10 S ", 10),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "soon", "10x", "-1s", "s", "1e3", "m10", "\u0661s"])
def test_what_is_not_a_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)


def test_nothing_is_not_long_enough() -> None:
    with pytest.raises(ValueError, match="should be more than 0"):
        parse_positive_duration("0ms")


@given(st.integers(1, 10**12))
def test_text_reads_back(microseconds: int) -> None:
    assert parse_duration(seconds_text(microseconds / 1e6)) == pytest.approx(microseconds / 1e6)
    assert float(seconds_text(microseconds / 1e6)) == pytest.approx(microseconds / 1e6)
