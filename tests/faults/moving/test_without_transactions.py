"""Movers that are killed while they write to tables of MyISAM and Aria, which have no transactions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.faults.moving import workload
from tests.faults.moving.cases import PAIRS, Case
from tests.faults.moving.mover import Mover

if TYPE_CHECKING:
    from tests.servers.server import Database

ENGINES = {"keyed": "MyISAM", "named": "Aria", "events": "MyISAM"}
_EVERY = [
    Case(pair, "at-least-once", place, times)
    for pair in ("postgres-mariadb", "mariadb-mariadb")
    for place, times in {
        "chunk-before-commit": 3,
        "chunk-after-commit": 3,
        "before-merge": 2,
        "before-commit": 2,
        "after-lane": 3,
        "after-merge": 2,
    }.items()
]
_OFTEN = ("postgres-mariadb", "chunk-before-commit")
CASES = [
    pytest.param(case, id=str(case), marks=[] if (case.pair, case.place) == _OFTEN else pytest.mark.thorough)
    for case in _EVERY
]


@pytest.fixture
def pair(case: Case, request: pytest.FixtureRequest) -> tuple[Database, Database]:
    """The target has tables of these storage engines."""
    source, target = (request.getfixturevalue(name) for name in PAIRS[case.pair])
    workload.create(source)
    for table, engine in ENGINES.items():
        target.execute(f"{workload.TABLES[table]} ENGINE = {engine}")
    workload.fill(source)
    return source, target


def test_killed(case: Case, pair: tuple[Database, Database], mover: Callable[..., Mover]) -> None:
    """What was written in part is written again: rows with a key are right in the end, and none is lost."""
    source, target = pair
    task = mover(case.delivery, "row", batch_bytes=case.batch_bytes)
    task.asked["tables"] = list(ENGINES)
    # By default, as the weakest table of the target can: nobody asked for it.
    task.asked["delivery"] = task.asked["consistency"] = None
    with workload.writing(source, seed=case.seed):
        killed = task.run((case.place, case.times), until_caught_up=False)
        assert killed.killed, killed.words
        again = task.run()
        assert again.code == 0, again.words
    last = task.run()
    assert last.code == 0, last.words
    wanted, found = (
        {table: sorted(side.rows(f"SELECT * FROM {table}")) for table in ENGINES} for side in (source, target)
    )
    assert wanted["events"], "nothing was written"
    assert found["keyed"] == wanted["keyed"]
    assert found["named"] == wanted["named"]
    assert set(found["events"]) == set(wanted["events"])
    assert last.status is not None
    assert (last.status["delivery"], last.status["consistency"]) == ("at-least-once", "row")
    assert last.status["not_found"] == []
