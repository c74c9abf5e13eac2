"""Movers that are killed while tables join their task: new ones, and one that is copied again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.faults.moving import workload
from tests.faults.moving.cases import Case
from tests.faults.moving.mover import Mover
from tieout import api
from tieout.model.requests import MoveRequest, TableRequest

if TYPE_CHECKING:
    from tests.servers.server import Database

PLACES = {"tables-added", "joining-copied", "before-joining", "after-joining", "restart-emptied"}
"""All places at which nothing else is under way."""
_CHUNK = "chunk-before-commit"
_EVERY = [
    Case(pair, "exactly-once", place, 2 if place == _CHUNK else 1)
    for place in (*sorted(PLACES), _CHUNK)
    for pair in ("postgres-mariadb", "mariadb-postgres", "sqlite-sqlite")
]
# Before any row of a table that the mover has created is there.
_EVERY += [Case(pair, "exactly-once", _CHUNK, 1) for pair in ("mariadb-postgres", "postgres-mariadb")]
_OFTEN = {("postgres-mariadb", "after-joining"), ("sqlite-sqlite", _CHUNK)}


def _is_often(case: Case) -> bool:
    empty = (case.pair, case.place, case.times) == ("mariadb-postgres", _CHUNK, 1)
    return (case.pair, case.place) in _OFTEN or empty


CASES = [
    pytest.param(case, id=f"{case}-{case.times}", marks=[] if _is_often(case) else pytest.mark.thorough)
    for case in _EVERY
]


def test_killed_while_tables_join(case: Case, pair: tuple[Database, Database], mover: Callable[..., Mover]) -> None:
    """One is new, and one is copied again, while all are written to."""
    source, target = pair
    task = mover(case.delivery)
    task.asked["tables"] = ["keyed", "loose", "events"]
    first = task.run()
    assert first.code == 0, first.words
    request = MoveRequest(task.asked["task"], source.url, target.url, tuple(map(TableRequest, task.asked["tables"])))
    restarted = api.restart_table(request, "keyed", task.asked["meta"])
    assert not restarted.is_running
    task.asked["tables"].append("named")
    with workload.writing(source, seed=3):
        killed = task.run((case.place, case.times))
        assert killed.killed, killed.words
        again = task.run()
        assert again.code == 0, again.words
    last = task.run()
    assert last.code == 0, last.words
    assert workload.contents(target) == workload.contents(source)
    assert last.status is not None
    assert {table["source"].split(".")[1] for table in last.status["tables"]} == set(workload.TABLES)
