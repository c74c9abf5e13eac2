"""Movers that are killed at named places while the source is written to: what they promise holds.

A few of the cases; `make test-faults` (pytest --all-faults) runs them all, and goes on where it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.faults.kills.movers import failpoints
from tests.faults.moving import workload
from tests.faults.moving.cases import ALL, DELIVERIES, FEW, PAIRS, Case
from tests.faults.moving.mover import Mover
from tests.faults.moving.test_joining_killed import PLACES as JOINING
from tests.faults.moving.test_widening_killed import PLACES as WIDENING
from tieout.model.moves import Consistency

if TYPE_CHECKING:
    from tests.servers.server import Database


def test_killed(case: Case, pair: tuple[Database, Database], mover: Callable[..., Mover]) -> None:
    source, target = pair
    task = mover(case.delivery, case.consistency, batch_bytes=case.batch_bytes)
    with workload.writing(source, seed=case.seed):
        finish = case.place == "while-finishing"
        killed = task.run((case.place, case.times), until_caught_up=False, finish=finish)
        assert killed.killed, killed.words
        again = task.run()
        assert again.code == 0, again.words
    last = task.run()
    assert last.code == 0, last.words
    wanted, found = workload.contents(source), workload.contents(target)
    assert wanted["events"], "nothing was written"
    events = Counter(found["events"])
    if case.delivery != "at-least-once":
        assert max(events.values()) == 1, "a row came twice"
    if case.delivery != "at-most-once":
        assert set(wanted["events"]) == set(events), "a row was lost, or came from nowhere"
        assert found["keyed"] == wanted["keyed"]
        assert found["named"] == wanted["named"]
        assert last.status is not None
        assert last.status["not_found"] == [], "a batch that is applied again misses nothing"
    if case.delivery == "exactly-once":
        assert found == wanted


def test_no_place_is_left_out() -> None:
    assert sorted({case.place for case in ALL} | JOINING | WIDENING) == failpoints()
    assert {case.pair for case in ALL} == set(PAIRS)
    for end in (0, 1):
        engines = {pair.split("-")[end] for pair in PAIRS}
        assert {case.pair.split("-")[end] for case in FEW} == engines
    assert {case.delivery for case in FEW} == set(DELIVERIES)
    assert {case.consistency for case in FEW} == set(Consistency)
