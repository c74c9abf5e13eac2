"""`verify TASK --table`: every pair of the task with that name is compared, as its own entry says."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tieout.config.urls import parse_url
from tieout.connectors.registry import open_endpoint
from tieout.errors import UsageError
from tieout.model.requests import Meaning, Narrowing, TableRequest, VerifyRequest
from tieout.model.tables import TableName
from tieout.verification.narrowing import NamesOfTable, TypedTables
from tieout.verification.parts import parts_of
from tieout.verification.plan import PlannedTable
from tieout.verification.plan_tables import plan_tables

Planned = Callable[..., list[tuple[str | None, str | None, str | None]]]


def condition(planned: PlannedTable) -> str | None:
    """The task's condition on the source."""
    parts = parts_of(planned.plan.source) if planned.plan else ()
    return parts[0].transfer.shape.where if parts and parts[0].transfer.shape else None


@pytest.fixture
def planned(tmp_path: Path) -> Planned:
    """What is planned of a task if tables are typed: source, target and the condition of the task."""
    urls = []
    for name in ("source", "target"):
        with closing(sqlite3.connect(tmp_path / name)) as file:
            for table in ("orders", "items", "a", "b"):
                file.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, deleted INTEGER)")
        urls.append(f"sqlite:///{tmp_path / name}")

    def plan(
        *entries: TableRequest, meaning: Meaning = Meaning.SPARK, began: bool = False, **typed: tuple[str, ...]
    ) -> list[tuple[str | None, str | None, str | None]]:
        request = VerifyRequest(*urls, entries, task="t", meaning=meaning, narrowing=Narrowing(**typed))
        with ExitStack() as stack:
            source, target = (stack.enter_context(closing(open_endpoint(parse_url(url)))) for url in urls)
            found = plan_tables(source, target, request, began=began)
        return [
            (each.pair.source and each.pair.source.name, each.pair.target and each.pair.target.name, condition(each))
            for each in found
        ]

    return plan


ALIVE = TableRequest("main.*", where="deleted = 0")
ORDERS_ALIVE = TableRequest("main.orders", where="deleted = 0")
ORDERS = ("orders", "orders", None)


@pytest.mark.parametrize("typed", ["orders", "o*", "main.orders", "main.o*", "Orders", "MAIN.Orders"])
def test_an_entry_of_its_own_goes_before_a_pattern(planned: Planned, typed: str) -> None:
    assert planned(TableRequest("orders"), ALIVE, tables=(typed,)) == [ORDERS]
    (found,) = planned(ORDERS_ALIVE, TableRequest("main.*"), tables=(typed,))
    assert found[2] is not None


def test_a_pattern_of_the_task_that_is_typed_itself(planned: Planned) -> None:
    found = planned(TableRequest("main.orders"), ALIVE, tables=("main.*",))
    assert [(name, where is None) for name, _, where in found] == [
        ("orders", True),
        ("a", False),
        ("b", False),
        ("items", False),
    ]


def test_a_table_with_two_targets(planned: Planned) -> None:
    entries = TableRequest("main.orders", "a"), TableRequest("orders", "b"), TableRequest("items")
    assert planned(*entries, tables=("orders",)) == [("orders", "a", None), ("orders", "b", None)]
    assert planned(*entries, tables=("orders",), exclude=("items",)) == [("orders", "a", None), ("orders", "b", None)]


def test_a_pattern_keeps_the_target_of_its_tables(planned: Planned) -> None:
    entry = TableRequest("main.*", "main.*")
    assert planned(entry, tables=("o*",)) == [ORDERS]
    assert planned(entry, tables=("o*", "a")) == [("a", "a", None), ORDERS]


@pytest.mark.parametrize("name", ["Orderz", "other.orders", "x*", "O*"])
def test_a_table_that_the_task_does_not_have(planned: Planned, name: str) -> None:
    with pytest.raises(UsageError, match="the task has no table"):
        planned(ALIVE, tables=(name,))
    with pytest.raises(UsageError, match="the task has no table b"):
        planned(TableRequest("*", exclude=("b",)), tables=("a", "b"))


def test_a_part_of_merged_tables_that_were_not_chosen_may_be_left_out(planned: Planned) -> None:
    merged = TableRequest("?", "items", expressions={"deleted": ("length(_table)", "")})
    found = planned(TableRequest("orders"), merged, meaning=Meaning.MOVED, tables=("orders",), exclude=("a",))
    assert found == [ORDERS]
    with pytest.raises(UsageError, match="a can't be left out alone"):
        planned(TableRequest("orders"), merged, meaning=Meaning.MOVED, exclude=("a",))


EITHER = pytest.mark.parametrize("meaning", [Meaning.SPARK, Meaning.MOVED])


@EITHER
@pytest.mark.parametrize("typed", ["a", "A", "main.A", "Orders", "ORDERS", "?"])
def test_a_table_is_left_out_by_any_of_its_names(planned: Planned, meaning: Meaning, typed: str) -> None:
    entries = TableRequest("a", "orders"), TableRequest("items")
    assert planned(*entries, meaning=meaning, exclude=(typed,)) == [("items", "items", None)]


@EITHER
def test_a_name_to_leave_out_is_one_of_the_source_first(planned: Planned, meaning: Meaning) -> None:
    entries = TableRequest("a", "b"), TableRequest("b", "orders")
    assert planned(*entries, meaning=meaning, exclude=("b",)) == [("a", "b", None)]


@EITHER
def test_a_table_to_leave_out_that_the_task_does_not_have(planned: Planned, meaning: Meaning) -> None:
    with pytest.raises(UsageError, match="the task has no table c"):
        planned(TableRequest("items"), meaning=meaning, exclude=("c",))
    assert planned(TableRequest("items"), meaning=meaning, exclude=("c*",)) == [("items", "items", None)]
    gone = planned(TableRequest("items"), meaning=meaning, exclude=("c",), began=True)
    assert gone == [("items", "items", None)]  # it was left out of a verification, and dropped since


def test_merged_tables_are_left_out_by_the_name_of_their_target(planned: Planned) -> None:
    merged = TableRequest("?", "items", expressions={"deleted": ("length(_table)", "")})
    assert planned(TableRequest("orders"), merged, meaning=Meaning.MOVED, exclude=("ITEMS",)) == [ORDERS]


def named(typed: str, *tables: tuple[str, str]) -> list[int]:
    """Which of the tables (source, target) a name means."""
    names = [NamesOfTable((TableName.parse(a),), TableName.parse(b)) for a, b in tables]  # type: ignore[arg-type]
    request = VerifyRequest("", "", narrowing=Narrowing(tables=(typed,)))
    chosen = TypedTables.of(request, names, began=False)
    return [place for place, each in enumerate(names) if chosen.names(each)]


def test_a_name_in_another_case_is_that_of_one_table() -> None:
    two = ("shop.Orders", "public.orders"), ("shop.ORDERS", "public.orders_2")
    assert named("orders", *two) == [0]
    assert named("ORDERS", *two) == [1]
    with pytest.raises(UsageError, match="the task has no table oRDERS") as error:
        named("oRDERS", *two)
    assert error.value.hint == "did you mean public.orders or shop.ORDERS or shop.Orders?"
    assert named("ORDERS", ("shop.orders", "public.a"), ("shop.orders", "public.b")) == [0, 1]
