"""Movers that are killed while they follow columns that were widened."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.faults.moving import workload
from tests.faults.moving.cases import Case
from tests.faults.moving.mover import Mover

if TYPE_CHECKING:
    from tests.servers.server import Database

PLACES = {"target-widened", "types-accepted"}
"""All places at which nothing else is under way."""
_EVERY = [
    Case("mariadb-postgres", "exactly-once", "target-widened", 1),
    Case("postgres-mariadb", "exactly-once", "target-widened", 1),
    Case("postgres-mariadb", "exactly-once", "types-accepted", 1),
    Case("mariadb-mariadb", "at-least-once", "target-widened", 2),
]
CASES = [
    pytest.param(case, id=str(case), marks=[pytest.mark.thorough] if number else [])
    for number, case in enumerate(_EVERY)
]
_WIDER = {
    "mysql": "ALTER TABLE keyed MODIFY id BIGINT NOT NULL, MODIFY n BIGINT",
    "postgresql": "ALTER TABLE keyed ALTER id TYPE BIGINT, ALTER n TYPE BIGINT",
}


def test_killed_while_a_table_is_widened(
    case: Case, pair: tuple[Database, Database], mover: Callable[..., Mover]
) -> None:
    """Its key is, too, and it is written to all the time."""
    source, target = pair
    task = mover(case.delivery)
    first = task.run()
    assert first.code == 0, first.words
    with workload.writing(source, seed=3):
        source.execute(_WIDER[workload.scheme(source)])
        source.execute("INSERT INTO keyed VALUES (5000000000, 6000000000, 'wide')")
        if case.times > 1:
            source.execute("ALTER TABLE events MODIFY n BIGINT")
        killed = task.run((case.place, case.times))
        assert killed.killed, killed.words
        again = task.run()
        assert again.code == 0, again.words
    last = task.run()
    assert last.code == 0, last.words
    assert last.status is not None
    assert [table["stopped"] for table in last.status["tables"]] == [None] * 4
    assert workload.contents(target) == workload.contents(source)
