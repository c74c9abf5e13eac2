"""A table whose expressions Spark refuses by now is unverified alone; the others are compared."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tieout.config.urls import parse_url
from tieout.connectors.registry import open_endpoint
from tieout.errors import UsageError
from tieout.model.requests import Meaning, TableRequest, VerifyRequest
from tieout.verification.plan import PlannedTable
from tieout.verification.plan_tables import plan_tables

Planned = Callable[..., dict[str, PlannedTable]]


@pytest.fixture
def planned(tmp_path: Path) -> Planned:
    """Tables t and u on both sides; somebody has given the price of the source's u more digits than Spark has."""
    urls = [f"sqlite:///{tmp_path / side}" for side in ("source", "target")]
    for side, price in (("source", "DECIMAL(50,20)"), ("target", "DECIMAL(10,2)")):
        with closing(sqlite3.connect(tmp_path / side)) as file:
            file.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, price DECIMAL(10,2))")
            file.execute(f"CREATE TABLE u (id INTEGER PRIMARY KEY, price {price})")
            lost = side == "source"  # two tables have lost a column, each on one side
            file.execute(f"CREATE TABLE v (id INTEGER PRIMARY KEY{'' if lost else ', a INTEGER'})")
            file.execute(f"CREATE TABLE w (id INTEGER PRIMARY KEY{', a INTEGER' if lost else ''})")

    def plan(meaning: Meaning, *entries: TableRequest) -> dict[str, PlannedTable]:
        request = VerifyRequest(*urls, entries, task="shop", meaning=meaning)
        with ExitStack() as stack:
            source, target = (stack.enter_context(closing(open_endpoint(parse_url(url)))) for url in urls)
            return {each.name: each for each in plan_tables(source, target, request)}

    return plan


DEAR = TableRequest("*", where="price > 2", exclude=("v", "w"))


@pytest.mark.parametrize("meaning", [Meaning.MOVED, Meaning.SPARK])
def test_the_others_are_compared(planned: Planned, meaning: Meaning) -> None:
    found = planned(meaning, DEAR)
    assert found["main.t"].plan is not None
    assert "Spark has no type for main.u.price" in str(found["main.u"].failure)


@pytest.mark.parametrize("meaning", [Meaning.MOVED, Meaning.SPARK])
def test_a_task_of_which_nothing_is_left(planned: Planned, meaning: Meaning) -> None:
    with pytest.raises(UsageError, match=r"Spark has no type for main\.u\.price"):
        planned(meaning, TableRequest("u", where="price > 2"))


@pytest.mark.parametrize("meaning", [Meaning.MOVED, Meaning.SPARK])
def test_a_column_that_one_side_has_lost(planned: Planned, meaning: Meaning) -> None:
    found = planned(meaning, TableRequest("v", where="a IS NULL OR A < 5"), TableRequest("t"))
    assert found["main.t"].plan is not None
    assert "has no column a" in str(found["main.v"].failure)


@pytest.mark.parametrize(("table", "side"), [("v", "source"), ("w", "target")])
def test_an_unmoved_table_names_the_side_that_lacks_a_column(planned: Planned, table: str, side: str) -> None:
    (found,) = planned(Meaning.SPARK, TableRequest(table, where="a < 5")).values()
    assert str(found.failure) == f"'a < 5': main.{table} has no column a on the {side}"
    computed = planned(Meaning.SPARK, TableRequest(table, expressions={"id": ("id + a", "id + a")}), TableRequest("t"))
    assert computed["main.t"].plan is not None
    reason = computed[f"main.{table}"].failure
    assert reason == f"'id + a': main.{table} has no column a on the {side}"


def test_a_column_that_neither_side_has_is_a_mistake_of_the_task(planned: Planned) -> None:
    with pytest.raises(UsageError, match="neither side has a column prise") as error:
        planned(Meaning.SPARK, TableRequest("t", where="prise > 2"), TableRequest("w"))
    assert error.value.hint == "they have id, price"
    with pytest.raises(UsageError, match="neither side has a column prise"):
        planned(Meaning.SPARK, TableRequest("v", where="prise > 2 OR a < 5"))
