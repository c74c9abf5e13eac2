"""Tasks at random, moved by movers that are killed: each target is what an interpreter of the task makes of the source.

One again, with what it is in words: `pytest --all-faults tests/faults/tasks -k task-17 -s`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.faults.kills.movers import Movers
from tests.faults.kills.places import PAIRS, Servers
from tests.faults.moving.mover import Mover
from tests.faults.tasks.play import Played, played
from tests.faults.tasks.random_tasks import task_of
from tests.faults.tasks.verified import found_of, plant, verdicts, verify
from tieout.spark import executor_work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUICK = (34, 40)
"""With filters, and the first with merged tables: that one is of `make test`. Only one mover of each is killed."""
TASKS = 30


@pytest.fixture(scope="module")
def movers(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Movers]:
    found = Movers(spark, tmp_path_factory.mktemp("movers"))
    yield found
    found.close()


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "number",
    [
        pytest.param(number, id=f"task-{number}", marks=[] if number == QUICK[0] else pytest.mark.thorough)
        for number in (*QUICK, *range(TASKS))
    ],
)
def test_a_task_at_random(
    number: int, request: pytest.FixtureRequest, movers: Movers, spark: SparkSession, tmp_path: Path
) -> None:
    task = task_of(number)
    if number in QUICK:
        task = replace(task, kills=task.kills[:1])
    given = {name: request.getfixturevalue(name) for name in PAIRS[task.pair] if name != "sqlite"}
    sys.stdout.write(f"{task}\n")
    with played(task, Servers(given), movers, tmp_path / "task") as outcome:
        sys.stdout.write("\n".join([str(outcome), *outcome.violations, ""]))
        assert outcome.violations == []
        # A mover has registered its sources in the session, and is dead: they have to be ours again.
        executor_work._REGISTERED.clear()
        Mover(spark, tmp_path, {})._call_back_here()
        _verify(outcome, spark)


def _verify(outcome: Played, spark: SparkSession) -> None:
    """A verification says `equal` of each table, unless a batch may have been lost or applied again there."""
    if outcome.judgement.lost or outcome.judgement.repeated:
        return
    result = verify(outcome, spark)
    equal = dict.fromkeys((entry.target for entry in outcome.task.entries), "equal")
    assert verdicts(result) == equal, result.differences
    fault = plant(outcome)
    if fault is None:
        return
    result = verify(outcome, spark)
    assert found_of(result) == {fault.entry.target: fault.found}, (fault.words, result.differences)
    if fault.key is not None:
        (difference,) = result.differences
        assert difference.key.items() >= fault.key.items(), fault.words
