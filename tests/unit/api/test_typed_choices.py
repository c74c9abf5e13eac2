"""What a person types in Python: texts for choices, plain names for tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tieout
from tieout import api
from tieout.checks.options import CheckOptions
from tieout.errors import UsageError
from tieout.model.check_statements import EngineChecker
from tieout.model.moves import Consistency, Delivery
from tieout.model.requests import MoveRequest, TableRequest, VerifyOptions, VerifyRequest
from tieout.model.results import Strategy


def move(**given: Any) -> MoveRequest:
    return MoveRequest("shop", "sqlite:///a.db", "sqlite:///b.db", **given)


@pytest.mark.parametrize(
    ("made", "meant"),
    [
        (lambda text: VerifyOptions(strategy=text).strategy, Strategy.PULL),
        (lambda text: move(delivery=text).delivery, Delivery.EXACTLY_ONCE),
        (lambda text: move(consistency=text).consistency, Consistency.TRANSACTION),
        (lambda text: CheckOptions(engine_checker=text).engine_checker, EngineChecker.EXTENDED),
    ],
)
def test_a_choice_is_itself_its_text_or_its_name(made: Callable[[str], object], meant: Any) -> None:
    for typed in (meant, meant.value, meant.name, meant.value.upper()):
        assert made(typed) is meant


@pytest.mark.parametrize(
    ("typed", "message", "hint"),
    [
        (
            lambda meta: tieout.verify("sqlite:///a.db", "sqlite:///b.db", strategy="pul", meta=meta),
            "'pul' is no strategy: there are auto, native, pushdown, pull",
            'did you mean "pull"?',
        ),
        (
            lambda meta: tieout.verify("sqlite:///a.db", "sqlite:///b.db", strategy=Strategy.COUNTS, meta=meta),
            "'counts' is no strategy: there are auto, native, pushdown, pull",
            None,
        ),
        (
            lambda meta: tieout.verify("sqlite:///a.db", "sqlite:///b.db", strategy=None, meta=meta),
            "'None' is no strategy: there are auto, native, pushdown, pull",
            None,
        ),
        (
            lambda meta: move(delivery="exact-once"),
            "'exact-once' is no delivery: there are at-least-once, at-most-once, exactly-once",
            'did you mean "exactly-once"?',
        ),
        (
            lambda meta: move(consistency="eventual"),
            "'eventual' is no consistency: there are row, table, transaction",
            None,
        ),
        (
            lambda meta: api.check("sqlite:///a.db", "CHECK TABLE t", engine_checker="save", meta=meta),
            "'save' is no engine_checker: there are safe, extended, none",
            'did you mean "safe"?',
        ),
        (
            lambda meta: api.list_jobs(meta, state="finished"),
            "'finished' is no state: there are running, paused, done, failed, cancelled, interrupted, stopped",
            None,
        ),
        (
            lambda meta: api.list_failures(meta, state="closed"),
            "'closed' is no state: there are open, ignored, resolved",
            None,
        ),
        (
            lambda meta: api.judge_failure("f-1", "ignore", None, meta),
            "'ignore' is no state: there are open, ignored, resolved",
            'did you mean "ignored"?',
        ),
        (
            lambda meta: api.control_move("shop", "halt", meta),
            "'halt' is no way to control a mover: there are pause, cancel, stop",
            None,
        ),
        (
            lambda meta: api.plan_check_repair("last", "sqlite:///a.db", choose={"index_order": "rebuilt"}, meta=meta),
            "'rebuilt' is no way to repair a failure: there are rebuild, create, delete, quarantine, restore, "
            "set_null, set_default, replace, insert_parent, keep_first, keep_last, recompute, advance, leave",
            'did you mean "rebuild"?',
        ),
    ],
)
def test_a_text_that_is_none_of_them_is_told_all(
    typed: Callable[[str], object], message: str, hint: str | None, tmp_path: Path
) -> None:
    meta = tmp_path / "meta.db"
    with pytest.raises(UsageError) as told:
        typed(f"sqlite:///{meta}")
    assert (told.value.message, told.value.hint) == (message, hint)
    assert not meta.exists(), "something was begun"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("orders", ["orders"]),
        (["orders", "customers"], ["orders", "customers"]),
        (TableRequest("orders"), ["orders"]),
        ((TableRequest("orders"), "customers"), ["orders", "customers"]),
        ([], []),
    ],
)
def test_tables_are_plain_names_where_nothing_else_is_said(typed: Any, meant: list[str]) -> None:
    tables = tuple(map(TableRequest, meant))
    assert VerifyRequest("sqlite:///a.db", "sqlite:///b.db", typed).tables == tables
    assert move(tables=typed).tables == tables


def test_columns_of_a_table_are_one_name_or_many() -> None:
    typed = TableRequest(
        "orders",
        key="id",
        columns=["id", "price"],
        exclude_columns="note",
        exclude=["audit"],
        tolerance={"price": 0.01},
    )
    assert typed == TableRequest(
        "orders",
        key=("id",),
        columns=("id", "price"),
        exclude_columns=("note",),
        exclude=("audit",),
        tolerance={"price": "0.01"},
    )
