"""What seems wrong at several looks: which of it counts."""

from __future__ import annotations

from typing import Any

import pytest

from tieout.runtime.recheck import Rechecked, RecheckPolicy, by_identity, recheck

PLACE = (0, ("7",))
OTHER = (0, ("8",))


def rechecked(*looks: dict[Any, Any], **policy: Any) -> tuple[Rechecked[Any, Any], int]:
    """What comes of these looks, the last of which stays; and how many waits it took."""
    waits: list[float] = []
    later = iter(looks[1:])
    asked = RecheckPolicy(0.5, **({"times": 5, "same_value": True} | policy))
    found = recheck(looks[0], lambda _: next(later, looks[-1]), asked, waits.append)
    assert set(waits) <= {0.5}
    return found, len(waits)


@pytest.mark.parametrize("agreeing", [2, 3])
def test_what_stays_counts_after_so_many_looks(agreeing: int) -> None:
    found, waits = rechecked({PLACE: "wrong"}, agreeing=agreeing)
    assert found == Rechecked({PLACE: "wrong"}, {})
    assert waits == agreeing - 1


def test_what_is_back_by_chance_does_not_count() -> None:
    looks = [{PLACE: "wrong"}, {PLACE: "wrong", OTHER: "new"}, {OTHER: "new"}]
    assert rechecked(*looks, agreeing=3)[0] == Rechecked({}, {})
    assert rechecked(*looks, agreeing=2)[0] == Rechecked({PLACE: "wrong"}, {})


def test_what_is_otherwise_at_every_look_is_unstable() -> None:
    looks = [{PLACE: f"wrong {number}", OTHER: "wrong"} for number in range(6)]
    found, waits = rechecked(*looks, agreeing=3)
    assert found == Rechecked({OTHER: "wrong"}, {PLACE: "wrong 5"})
    assert waits == 5


def test_a_value_may_be_another_one_where_only_the_suspect_counts() -> None:
    found, waits = rechecked({PLACE: "first"}, {PLACE: "second"}, agreeing=2, same_value=False)
    assert (found, waits) == (Rechecked({PLACE: "second"}, {}), 1)


def test_what_must_differ_at_every_look_is_cleared_by_one() -> None:
    looks = [{PLACE: "wrong"}, {PLACE: "wrong"}, {PLACE: "wrong"}, {}]
    assert rechecked(*looks, times=3, agreeing=4)[0] == Rechecked({}, {})
    assert rechecked(*looks[:3], times=3, agreeing=4) == (Rechecked({PLACE: "wrong"}, {}), 3)


def test_a_new_suspect_joins_only_where_suspects_may_grow() -> None:
    looks = [{PLACE: "wrong"}, {OTHER: "new"}, {OTHER: "new"}]
    assert rechecked(*looks, agreeing=2)[0] == Rechecked({}, {})
    assert rechecked(*looks, agreeing=2, grows=True)[0] == Rechecked({OTHER: "new"}, {})
    assert rechecked(*looks[:2], times=1, agreeing=2, grows=True)[0] == Rechecked({}, {OTHER: "new"})


def test_one_look_more_than_asked_for_if_it_takes_that() -> None:
    assert rechecked({PLACE: "wrong"}, times=1, agreeing=3) == (Rechecked({PLACE: "wrong"}, {}), 2)


def test_nothing_wrong_takes_no_wait() -> None:
    assert rechecked({}, agreeing=3) == (Rechecked({}, {}), 0)


def test_what_can_not_be_told_apart_is_one_suspect() -> None:
    assert by_identity(["a1", "b1", "a2"], lambda text: text[0]) == {"a": ("a1", "a2"), "b": ("b1",)}
