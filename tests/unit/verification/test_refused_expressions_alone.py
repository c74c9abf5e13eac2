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

    def plan(meaning: Meaning, *entries: TableRequest) -> dict[str, PlannedTable]:
        request = VerifyRequest(*urls, entries, task="shop", meaning=meaning)
        with ExitStack() as stack:
            source, target = (stack.enter_context(closing(open_endpoint(parse_url(url)))) for url in urls)
            return {each.name: each for each in plan_tables(source, target, request)}

    return plan


DEAR = TableRequest("*", where="price > 2")


@pytest.mark.parametrize("meaning", [Meaning.MOVED, Meaning.SPARK])
def test_the_others_are_compared(planned: Planned, meaning: Meaning) -> None:
    found = planned(meaning, DEAR)
    assert found["main.t"].plan is not None
    assert "Spark has no type for main.u.price" in str(found["main.u"].failure)


@pytest.mark.parametrize("meaning", [Meaning.MOVED, Meaning.SPARK])
def test_a_task_of_which_nothing_is_left(planned: Planned, meaning: Meaning) -> None:
    with pytest.raises(UsageError, match=r"Spark has no type for main\.u\.price"):
        planned(meaning, TableRequest("u", where="price > 2"))
