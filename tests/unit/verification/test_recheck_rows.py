"""Rows that differ in a table that is written to: they count if they still differ later."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.integration.keys.looking import planned
from tests.servers.sqlite import SqliteDatabase
from tieout.model.differences import DifferenceCounts
from tieout.model.keys import EVERYTHING
from tieout.model.requests import TableRequest
from tieout.verification.compare import compare_rows
from tieout.verification.localise import Found, Rechecking, RowRecheck, shape_of
from tieout.verification.plan import TablePlan
from tieout.verification.rows import read_rows


@pytest.fixture
def target(sqlite_db: Callable[[str], SqliteDatabase]) -> SqliteDatabase:
    return sqlite_db("target")


@pytest.fixture
def plan(target: SqliteDatabase, sqlite_db: Callable[[str], SqliteDatabase]) -> Iterator[TablePlan]:
    """Of the rows 1 and 2, both of which differ."""
    source = sqlite_db("source")
    for database, value in ((source, 1), (target, 0)):
        database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v INT); CREATE TABLE other (id INT)")
        database.execute(f"INSERT INTO t VALUES (1, {value}), (2, {value})")
    with planned(source.url, target.url, TableRequest("t")) as plan:
        yield plan


def differing(plan: TablePlan, marks: tuple[str | None, str | None], later: Callable[[], None]) -> tuple[int, int]:
    """How many rows count as changed, and how many were looked at again."""
    found = Found(shape_of(plan), None)
    rechecks = RowRecheck(plan, Rechecking(0.0, 2, marks), found)
    source, target = (read_rows(side.reader, side.scan, EVERYTHING) for side in (plan.source, plan.target))
    rechecks.add(compare_rows(found.shape, source, target))
    later()
    rechecks.finish()
    result = found.result()
    assert result.counts == DifferenceCounts(changed=result.counts.changed)
    return result.counts.changed, result.rechecked


def marks_of(plan: TablePlan) -> tuple[str | None, str | None]:
    return plan.source.reader.activity(), plan.target.reader.activity()


def test_a_row_that_is_right_a_moment_later_is_no_difference(plan: TablePlan, target: SqliteDatabase) -> None:
    before = marks_of(plan)
    target.execute("INSERT INTO other VALUES (1)")
    assert differing(plan, before, lambda: target.execute("UPDATE t SET v = 1 WHERE id = 2")) == (1, 2 + 1)


def test_what_was_not_written_to_is_not_looked_at_again(plan: TablePlan) -> None:
    assert differing(plan, marks_of(plan), lambda: None) == (2, 0)


def test_what_may_have_been_written_to_is(plan: TablePlan) -> None:
    assert differing(plan, (None, None), lambda: None) == (2, 2 + 2)
