"""What is typed about tables becomes what is compared."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tieout.cli._support.parse_options import TypedTables, narrowing_of, table_requests
from tieout.errors import UsageError
from tieout.model.requests import Meaning, Narrowing, TableRequest, VerifyRequest


def test_nothing_typed_compares_everything():
    assert table_requests(TypedTables()) == ()


def test_tables_are_names_patterns_and_pairs():
    asked = table_requests(TypedTables(table=["orders", "shop.*", "old = new.orders"]))
    assert asked == (TableRequest("orders"), TableRequest("shop.*"), TableRequest("old", "new.orders"))


@pytest.mark.parametrize("text", ["", "=b", "a=", " = "])
def test_a_table_without_a_name_is_refused(text: str):
    with pytest.raises(UsageError, match="names no table"):
        table_requests(TypedTables(table=[text]))


def test_what_is_typed_about_rows_goes_to_every_table():
    asked = table_requests(TypedTables(table=["a", "b"], where="x > 1", key="id, region", exclude_columns="t"))
    assert [table.source for table in asked] == ["a", "b"]
    assert all(table.where == "x > 1" and table.key == ("id", "region") for table in asked)
    assert all(table.exclude_columns == ("t",) for table in asked)


def test_a_condition_without_tables_is_for_all_of_them():
    (table,) = table_requests(TypedTables(source_where="x = 1", exclude=["audit*"]))
    assert table == TableRequest("*", source_where="x = 1", exclude=("audit*",))


def test_tolerances_and_expressions_are_by_column():
    (table,) = table_requests(
        TypedTables(
            table=["t"],
            tolerance=["price=0.01", "ratio=1e-9 relative"],
            expr=["total=price * qty|total", "name=first || ' ' || last", "day=|date(day)"],
        )
    )
    assert table.tolerance == {"price": "0.01", "ratio": "1e-9 relative"}
    assert table.expressions == {
        "total": ("price * qty", "total"),
        "name": ("first || ' ' || last", ""),  # two bars concatenate, one parts the sides
        "day": ("", "date(day)"),
    }


@pytest.mark.parametrize(
    "words",
    [
        TypedTables(tolerance=["price"]),
        TypedTables(tolerance=["=1"]),
        TypedTables(expr=["total="]),
        TypedTables(expr=["total=a|b|c"]),
        TypedTables(key="a,,b"),
        TypedTables(columns=","),
    ],
)
def test_half_of_an_option_is_refused(words: TypedTables):
    with pytest.raises(UsageError):
        table_requests(words)


TASK = (
    TableRequest("shop.orders", "public.orders", where="region = 'eu'"),
    TableRequest("shop.*", "public.*", exclude=("shop.audit",)),
)


@pytest.mark.parametrize("meaning", [Meaning.MOVED, Meaning.SPARK])
def test_a_task_says_itself_which_tables_belong_together(meaning: Meaning):
    task = VerifyRequest("sqlite:///a.db", "sqlite:///b.db", TASK, task="t", meaning=meaning)
    with pytest.raises(UsageError, match="the task already says"):
        narrowing_of(TypedTables(table=["orders=x"]), task)


def test_a_task_without_tables_compares_the_typed_ones():
    task = VerifyRequest("sqlite:///a.db", "sqlite:///b.db", (), task="t", meaning=Meaning.SPARK)
    assert narrowing_of(TypedTables(table=["sales.*", "a=b"]), task).tables == (
        TableRequest("sales.*"),
        TableRequest("a", "b"),
    )


def test_what_is_typed_replaces_nothing_that_the_task_leaves_out():
    entry = TableRequest("shop.*", exclude=("shop.audit",), exclude_columns=("seen_at",), tolerance={"weight": "1"})
    task = VerifyRequest("sqlite:///a.db", "sqlite:///b.db", (entry,), task="t", meaning=Meaning.SPARK)
    words = TypedTables(exclude=["tmp_*"], exclude_columns="note", tolerance=["price=2"], key="id")
    compared = narrowing_of(words, task)
    assert compared.tables == (entry,)
    assert compared.narrowing == Narrowing(
        exclude=("tmp_*",), exclude_columns=("note",), tolerance={"price": "2"}, key=("id",)
    )


def test_what_is_typed_beside_a_task_narrows_it():
    moved = VerifyRequest("sqlite:///a.db", "sqlite:///b.db", TASK, task="t", meaning=Meaning.MOVED)
    words = TypedTables(table=["orders"], where="id < 9", target_where="id < 8", columns="id, total")
    request = narrowing_of(words, moved)
    assert request.tables == TASK
    assert request.narrowing == Narrowing(
        tables=("orders",), source_where="id < 9", target_where="id < 8", columns=("id", "total")
    )
    with pytest.raises(UsageError, match="--expr can't be combined with a task that is moved"):
        narrowing_of(TypedTables(expr=["total=1"]), moved)

    compared = narrowing_of(words, replace(moved, meaning=Meaning.SPARK))
    assert (compared.tables, compared.narrowing) == (TASK, request.narrowing)
    assert narrowing_of(TypedTables(), moved) is moved
