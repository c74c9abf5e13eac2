"""Repairs of what a task moves or compares: they write what the task would, or nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.repairing import Pair
from tieout.meta import ChangeAction, ChangeOutcome, ChangeState, JobKind, RepairChange, RepairState
from tieout.model.documents import request_document
from tieout.model.requests import Meaning, Narrowing, TableRequest, VerifyRequest
from tieout.repair.from_differences.tables import verification

COLUMNS = "id INTEGER PRIMARY KEY, name TEXT, price INTEGER, qty INTEGER, secret TEXT"


@pytest.fixture
def pair(sqlite_db: Callable[[str], Any], tmp_path: Path) -> Pair:
    """A table of a task, of which the target has lost a row."""
    pair = Pair.of(sqlite_db("source"), sqlite_db("target"), tmp_path)
    pair.both(f"CREATE TABLE p ({COLUMNS}, total INTEGER, updated_at TEXT)")
    pair.source.execute("INSERT INTO p VALUES (1, 'a', 10, 2, 'x', 0, '2020'), (2, 'b', 5, 3, 'y', 0, '2021')")
    pair.target.execute("INSERT INTO p VALUES (1, 'a', 20, 2, NULL, 20, '2022')")
    return pair


NOW = TableRequest(
    "p", exclude_columns=("secret", "total", "price"), expressions={"updated_at": ("current_timestamp()", "")}
)
COMPUTED = TableRequest(
    "p", exclude_columns=("secret", "updated_at"), expressions={"total": ("price * qty", ""), "price": ("price*2", "")}
)
OTHER_SIDE = TableRequest("p", exclude_columns=("secret",), expressions={"price": ("price * 100", "")})


@pytest.mark.parametrize(
    ("meaning", "entry", "typed"),
    [
        (Meaning.MOVED, NOW, {}),
        (Meaning.MOVED, COMPUTED, {"exclude_columns": ("total", "price")}),
        (Meaning.MOVED, COMPUTED, {"columns": ("id", "name")}),
        (Meaning.SPARK, OTHER_SIDE, {"exclude_columns": ("price", "total", "updated_at")}),
        (Meaning.ENGINE, TableRequest("p", columns=("id", "name"), expressions={"price": ("price * 100", "")}), {}),
    ],
    ids=["unverified", "left out", "not chosen", "not moved", "no task"],
)
def test_a_computed_column_that_is_not_compared_is_not_copied(
    pair: Pair, meaning: Meaning, entry: TableRequest, typed: dict[str, tuple[str, ...]]
) -> None:
    """A lost row would come back with the source's own value, and pass for equal."""
    assert len(pair.compare(entry, meaning=meaning, narrowing=Narrowing(**typed), task="shop")) == 1  # type: ignore[arg-type]
    plan = pair.plan()
    assert (plan.changes, "expressions compute columns" in plan.unrepaired[0].reason) == (0, True)
    assert "INSERT" not in pair.statements()


@pytest.mark.parametrize("meaning", [Meaning.MOVED, Meaning.SPARK])
@pytest.mark.parametrize("entry", [{"columns": ("id", "name", "qty")}, {"exclude_columns": ("secret", "price")}])
def test_what_a_task_leaves_out_is_not_copied(pair: Pair, meaning: Meaning, entry: dict[str, tuple[str, ...]]) -> None:
    pair.compare(TableRequest("p", **entry), meaning=meaning, narrowing=Narrowing(columns=("id", "name")), task="shop")  # type: ignore[arg-type]
    assert pair.plan().inserts == 1
    pair.apply()
    assert pair.target.rows("SELECT name, qty, price, secret FROM p WHERE id = 2") == [("b", 3, None, None)]


def stored(pair: Pair, *, applied: bool = False) -> None:
    """A plan of an earlier version: it inserts the lost row with a column that the task leaves out."""
    row = {"id": "2", "name": "b", "price": "5", "secret": "y"}
    with pair.store() as store:
        plan = store.repairs.create(
            verification(store, "last").id, [RepairChange("main.p", ChangeAction.INSERT, {"id": "2"}, None, row)]
        )
        if applied:
            (change,) = store.repairs.changes(plan.id)
            store.repairs.record(plan.id, [ChangeOutcome(change.sequence, ChangeState.APPLIED)])
            store.repairs.set_state(plan.id, RepairState.APPLIED)
    if applied:
        pair.target.execute("INSERT INTO p (id, name, price, secret) VALUES (2, 'b', 5, 'y')")


@pytest.mark.parametrize(
    ("entry", "reason"),
    [(TableRequest("p", exclude_columns=("secret",)), "the task leaves out secret"), (NOW, "expressions compute")],
    ids=["left out", "computed"],
)
def test_a_plan_of_an_earlier_version_can_only_be_undone(pair: Pair, entry: TableRequest, reason: str) -> None:
    pair.compare(entry, meaning=Meaning.MOVED, task="shop")
    stored(pair)
    assert "\nINSERT" not in pair.statements()
    refused = pair.apply()
    assert (refused.done, refused.failed, reason in refused.messages[0]) == (0, 1, True)
    stored(pair, applied=True)
    assert pair.undo().done == 1
    assert pair.target.rows("SELECT id FROM p") == [(1,)]


@pytest.mark.parametrize("meaning", [Meaning.MOVED, Meaning.SPARK])
@pytest.mark.parametrize(
    "entry",
    [TableRequest("p", where="price > 1"), TableRequest("p", expressions={"price": ("price * 2", "")})],
    ids=["filtered", "computed"],
)
def test_what_to_do_about_rows_that_spark_makes(pair: Pair, meaning: Meaning, entry: TableRequest) -> None:
    """Nobody moves the rows of a task that is not moved again."""
    shown = pair.urls[0].redacted(), pair.urls[1].redacted()
    request = VerifyRequest(pair.source.url, pair.target.url, (entry,), task="shop", meaning=meaning)
    with pair.store() as store:
        kept = request_document(request, shown)
        job = store.jobs.create(JobKind.VERIFICATION, source=shown[0], target=shown[1], request=kept)
        store.tables.add(job.id, [("main.p", "main.p")])
        counted = {"source_table": "main.p", "target_table": "main.p", "differences": {"missing": 1}}
        store.jobs.finish(job.id, verdict="different", result={"tables": [counted]})
    (refused,) = pair.plan().unrepaired
    assert ("move its rows again" in refused.reason) is (meaning is Meaning.MOVED)
    assert ("verify it without the task" in refused.reason) is (meaning is Meaning.SPARK)
