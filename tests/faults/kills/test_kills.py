"""Kills that tell the deliveries apart: between the rows of a batch and its progress, and before either is there.

A mover that does the same whatever its delivery fails one of these. `make test-kills` kills at random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.faults.kills.history import Outcome, Plan, play
from tests.faults.kills.movers import Kill, Movers
from tests.faults.kills.places import PAIRS, Servers
from tests.faults.moving.mover import Mover
from tests.variants import later
from tieout.spark import executor_work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIRST = Kill(60.0, place="after-switch")
"""All is applied that a chunk may hold: what the next mover applies was never there."""
APPLIED = Kill(60.0, place="after-merge")
"""The rows are there, and under at-least-once nobody knows yet."""
KEPT = Kill(60.0, place="before-commit")
"""Under at-most-once the position is kept, and the rows are not there yet."""

CASES = [
    later(pair, delivery, kills)
    for pair in PAIRS
    for delivery, kills in (
        ("exactly-once", (FIRST, KEPT, APPLIED)),
        ("at-least-once", (FIRST, APPLIED)),
        ("at-most-once", (FIRST, KEPT)),
    )
]
"""`make test` has others: tests/faults/moving."""
GROWN = Kill(60.0, place="after-merge", times=6)
"""Batches have grown by then: the next mover begins with short ones."""


@pytest.fixture
def played(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Iterator[Callable[[Plan], Outcome]]:
    """Plays histories on the servers and the Spark of the tests."""
    names = ("mariadb", "mariadb_b", "postgres")

    def play_it(plan: Plan) -> Outcome:
        given = {name: request.getfixturevalue(name) for name in names if name in PAIRS[plan.pair]}
        return play(plan, Servers(given), movers, tmp_path / "history")

    movers = Movers(spark, tmp_path)
    yield play_it
    movers.close()
    # A mover has registered its sources in the session, and is dead: they have to be ours again.
    executor_work._REGISTERED.clear()
    Mover(spark, tmp_path, {})._call_back_here()


@pytest.mark.parametrize(("pair", "delivery", "kills"), CASES)
def test_what_a_kill_shows(
    pair: str, delivery: str, kills: tuple[Kill, ...], played: Callable[[Plan], Outcome]
) -> None:
    outcome = played(Plan(1, pair, delivery, kills, batch_bytes=200_000))
    assert outcome.violations == []
    assert outcome.places == [kill.place for kill in kills], "a mover did not get to where it was to be killed"
    repeated, lost = outcome.judgement.repeated, outcome.judgement.lost
    assert bool(repeated) == (delivery == "at-least-once"), "a batch is applied again, under at-least-once alone"
    assert bool(lost) == (delivery == "at-most-once"), "a batch is lost, under at-most-once alone"


@pytest.mark.thorough
@pytest.mark.parametrize("pair", ["mariadb-postgres", "postgres-mariadb", "mariadb-mariadb"])
def test_nobody_sees_rows_go_back_in_time(pair: str, played: Callable[[Plan], Outcome]) -> None:
    """At least once, too: a batch that is applied again is the same batch."""
    outcome = played(Plan(1, pair, "at-least-once", (FIRST, GROWN, GROWN), batch_bytes=2_000))
    assert outcome.judgement.repeated, "no batch was applied again"
    assert outcome.violations == []
