"""What each combination of levels promises, in cases that users meet."""

from __future__ import annotations

import pytest

from tieout.model.levels import Levels, TargetLevel, choose, promise_of
from tieout.model.moves import Consistency, Delivery

ROW, TABLE, TRANSACTION = Consistency
AT_LEAST_ONCE, AT_MOST_ONCE, EXACTLY_ONCE = Delivery
PRIMITIVE, UNIQUE_KEY, LOGICAL_CLOCK, BOUNDS = TargetLevel

TOO_MANY = "no change is lost; if the mover is killed, equal rows of the last batch may be too many or too few"


@pytest.mark.parametrize(
    ("delivery", "target", "keyed", "killed"),
    [
        (EXACTLY_ONCE, BOUNDS, True, "nothing is lost or duplicated"),
        (EXACTLY_ONCE, LOGICAL_CLOCK, False, "nothing is lost or duplicated"),
        (AT_LEAST_ONCE, BOUNDS, True, "nothing is lost; applying a change twice does no harm"),
        (
            AT_LEAST_ONCE,
            BOUNDS,
            False,
            TOO_MANY,
        ),
        (
            AT_LEAST_ONCE,
            UNIQUE_KEY,
            False,
            TOO_MANY,
        ),
        (
            AT_LEAST_ONCE,
            PRIMITIVE,
            True,
            TOO_MANY,
        ),
        (AT_MOST_ONCE, BOUNDS, True, "nothing is duplicated; if the mover is killed, the last batch may be lost"),
    ],
)
def test_what_holds_when_a_mover_is_killed(delivery: Delivery, target: TargetLevel, keyed: bool, killed: str) -> None:
    promise = promise_of(delivery, ROW, TRANSACTION, target, keyed=keyed)
    assert (promise.refused, promise.killed) == (None, killed)


@pytest.mark.parametrize(
    ("delivery", "consistency", "source", "target"),
    [
        (EXACTLY_ONCE, TRANSACTION, ROW, BOUNDS),
        (EXACTLY_ONCE, TABLE, ROW, BOUNDS),
        (EXACTLY_ONCE, TRANSACTION, TABLE, BOUNDS),
        (EXACTLY_ONCE, TRANSACTION, TRANSACTION, LOGICAL_CLOCK),
        (EXACTLY_ONCE, ROW, TRANSACTION, UNIQUE_KEY),
        (AT_MOST_ONCE, ROW, TRANSACTION, PRIMITIVE),
        (AT_LEAST_ONCE, TABLE, TRANSACTION, UNIQUE_KEY),
    ],
)
def test_what_is_refused(
    delivery: Delivery, consistency: Consistency, source: Consistency, target: TargetLevel
) -> None:
    assert promise_of(delivery, consistency, source, target, keyed=True).refused


def test_the_weakest_table_decides_what_a_task_gets_by_default() -> None:
    assert _chosen(TRANSACTION, BOUNDS) == (EXACTLY_ONCE, TRANSACTION)
    assert _chosen(TRANSACTION, BOUNDS, LOGICAL_CLOCK) == (EXACTLY_ONCE, TABLE)
    assert _chosen(ROW, BOUNDS) == (EXACTLY_ONCE, ROW)
    assert _chosen(TRANSACTION, BOUNDS, UNIQUE_KEY) == (AT_LEAST_ONCE, ROW)


def test_what_the_user_chose_stays_and_needs_no_reason() -> None:
    assert choose(AT_LEAST_ONCE, ROW, TRANSACTION, [BOUNDS]) == Levels(AT_LEAST_ONCE, ROW)


def _chosen(source: Consistency, *targets: TargetLevel) -> tuple[Delivery, Consistency]:
    found = choose(None, None, source, targets)
    assert len(found.reasons) == 2
    return found.delivery, found.consistency
