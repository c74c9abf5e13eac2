"""What seems wrong at several looks: which of it is told."""

from __future__ import annotations

from typing import Any

import pytest

from tieout.runtime.recheck import Settled, settle

PLACE = (0, ("7",))
OTHER = (0, ("8",))


def settled(*looks: dict[Any, Any], times: int = 5, agreeing: int) -> tuple[Settled, int]:
    """What comes of these looks, the last of which stays; and how many rests it took. Mismatches are only compared."""
    rests: list[None] = []
    rest = iter(looks[1:])
    found = settle(looks[0], lambda _: next(rest, looks[-1]), times, lambda: rests.append(None), agreeing=agreeing)
    return found, len(rests)


@pytest.mark.parametrize("agreeing", [2, 3])
def test_what_stays_is_told_after_so_many_looks(agreeing: int) -> None:
    found, rests = settled({PLACE: "wrong"}, agreeing=agreeing)
    assert found == Settled(("wrong",), frozenset())  # type: ignore[arg-type]
    assert rests == agreeing - 1


def test_what_is_back_by_chance_is_not_told() -> None:
    looks = [{PLACE: "wrong"}, {PLACE: "wrong", OTHER: "new"}, {OTHER: "new"}]
    assert settled(*looks, agreeing=3)[0] == Settled((), frozenset())
    assert settled(*looks, agreeing=2)[0].mismatches == ("wrong",)


def test_what_is_otherwise_at_every_look_is_not_settled() -> None:
    looks = [{PLACE: f"wrong {number}", OTHER: "wrong"} for number in range(6)]
    found, rests = settled(*looks, agreeing=3)
    assert found == Settled(("wrong",), frozenset({PLACE}))  # type: ignore[arg-type]
    assert rests == 5


def test_one_look_more_than_asked_for_if_it_takes_that() -> None:
    assert settled({PLACE: "wrong"}, times=1, agreeing=3)[0].mismatches == ("wrong",)


def test_nothing_wrong_takes_no_rest() -> None:
    assert settled({}, agreeing=3) == (Settled((), frozenset()), 0)
