"""What a job found is not repaired or resumed by a task that says something else by now."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tieout.model.requests import TableRequest
from tieout.tasks.edited_tables import edited_table

ORDERS = TableRequest("orders", columns=("id", "total"), where="id > 0")
REST = TableRequest("shop.*", exclude=("shop.audit",))
JOB = [("shop.orders", "public.orders"), ("shop.items", "public.items"), (None, "public.extra")]


def edited(*now: TableRequest, before: tuple[TableRequest, ...] = (ORDERS, REST), moved: bool = False) -> str | None:
    return edited_table(before, now, JOB, is_moved=(moved, moved))


def test_a_task_that_says_the_same() -> None:
    assert edited(ORDERS, REST) is None
    assert edited(REST, replace(ORDERS, columns=("total", "id"))) is None
    assert edited(ORDERS, REST, TableRequest("customers", where="id > 5")) is None  # no table of the job
    assert edited(replace(ORDERS, source="shop.Orders"), REST) is None
    assert edited(before=()) is None


@pytest.mark.parametrize(
    ("now", "name"),
    [
        ((replace(ORDERS, where="id > 1"), REST), "shop.orders"),
        ((replace(ORDERS, where=None, source_where="id > 0"), REST), "shop.orders"),
        ((replace(ORDERS, columns=None), REST), "shop.orders"),
        ((replace(ORDERS, exclude_columns=("note",)), REST), "shop.orders"),
        ((replace(ORDERS, key=("total",)), REST), "shop.orders"),
        ((replace(ORDERS, tolerance={"total": "0.1"}), REST), "shop.orders"),
        ((replace(ORDERS, target="orders_2"), REST), "shop.orders"),
        ((replace(ORDERS, expressions={"total": ("", "total / 100")}), REST), "shop.orders"),
        ((ORDERS, replace(REST, exclude=("shop.items",))), "shop.items"),
        ((ORDERS, replace(REST, where="id > 1")), "shop.items"),
        ((ORDERS, TableRequest("items")), "public.extra"),
    ],
)
def test_the_table_about_which_it_says_something_else(now: tuple[TableRequest, ...], name: str) -> None:
    assert edited(*now) == name


def test_a_condition_of_a_moved_task_is_about_its_source() -> None:
    assert edited(replace(ORDERS, where=None, source_where="id > 0"), REST, moved=True) is None


def test_tables_that_were_typed_for_a_task_without_entries() -> None:
    typed = (TableRequest("orders", "orders"), TableRequest("items"), TableRequest("extra"))
    assert edited(before=typed) is None
    assert edited(before=(replace(typed[0], where="id > 1"), *typed[1:])) == "shop.orders"


def test_merged_tables_are_named_one_by_one() -> None:
    tables = [("shop.a_1, shop.a_2, shop.b and 3 more", "public.a")]
    before = TableRequest("a_*", "a"), TableRequest("b", "a")
    assert edited_table(before, before, tables, is_moved=(True, True)) is None
    now = before[0], replace(before[1], where="id > 1")
    assert edited_table(before, now, tables, is_moved=(True, True)) == "shop.b"
