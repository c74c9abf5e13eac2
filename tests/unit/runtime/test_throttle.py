"""Rows a second."""

from __future__ import annotations

import pytest

from tieout import rate_limit
from tieout.config.urls import parse_url
from tieout.model.requests import MoveOptions
from tieout.rate_limit import rate_limited
from tieout.runtime import throttle
from tieout.runtime.throttle import Throttle


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(throttle, "time", clock)
    monkeypatch.setattr(rate_limit, "time", clock)
    return clock


def lines(block: bytes) -> int:
    return block.count(b"\n")


def test_lines_are_paced(clock: Clock) -> None:
    blocks = [b"a\nb\n", b"c\n", b"d\n" * 7]
    assert list(rate_limited(iter(blocks), lines, 2.0)) == blocks
    assert clock.now == 5.0


def test_no_limit_is_no_wait(clock: Clock) -> None:
    assert list(rate_limited(iter([b"a\n" * 1000]), lines, None)) == [b"a\n" * 1000]
    throttle = Throttle(MoveOptions(), parse_url("sqlite:///x.db"))
    throttle.moved(1_000_000)
    assert (throttle.reason(), clock.now) == (None, 0.0)


def test_changes_wait_for_their_turn(clock: Clock) -> None:
    throttle = Throttle(MoveOptions(max_rows_per_second=100), parse_url("sqlite:///x.db"))
    throttle.moved(250)
    assert throttle.reason() == "limited to 100 rows per second"
    while throttle.reason() is not None:
        assert clock.now < 3
    assert clock.now == 2.5
