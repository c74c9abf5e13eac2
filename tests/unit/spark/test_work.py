"""What Spark's Python processes load, and what they look at again and again."""

from __future__ import annotations

import base64
import gc
import pickle
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar, cast

import pytest

from tieout.errors import SparkFailure, UnreachableError
from tieout.spark import executor_work


@dataclass(frozen=True)
class Told:
    value: int

    def run(self) -> Iterator[int]:
        yield self.value


@dataclass(frozen=True)
class LostOnce:
    """Its connection is lost at the first try."""

    tries: ClassVar[list[int]] = []

    def run(self) -> Iterator[int]:
        self.tries.append(1)
        if len(self.tries) == 1:
            raise UnreachableError("the connection was lost")
        yield 7


@dataclass(frozen=True)
class Quoting:
    def run(self) -> Iterator[int]:
        raise ValueError("no number: 'hunter2'")


@pytest.fixture(autouse=True)
def collected_anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in a process that has done no work yet."""
    gc.unfreeze()
    monkeypatch.setattr(executor_work, "_kept_modules", 0)
    yield
    gc.unfreeze()


def test_who_plans_does_not_load_what_the_work_needs() -> None:
    pickles = [(2, b"only the task can load this"), (1, b"nor this")]
    source = executor_work.WorkSource({"secret.work": base64.b64encode(pickle.dumps(pickles)).decode(), "cells": "0"})
    planned = source.reader(source.schema()).partitions()
    assert [(each.first, each.pickled) for each in planned] == [(0, pickles[0][1]), (2, pickles[1][1])]


def test_a_task_does_its_pieces_in_order() -> None:
    pieces = executor_work.Pieces(5, pickle.dumps([Told(1), Told(2)]))
    rows = [row for batch in executor_work.read_pieces(pieces) for row in batch.to_pylist()]
    assert [(row["work"], pickle.loads(row["payload"])) for row in rows] == [(5, 1), (6, 2)]


def test_what_a_task_has_loaded_is_looked_through_no_more() -> None:
    assert gc.get_freeze_count() == 0
    list(executor_work.read_pieces(executor_work.Pieces(0, pickle.dumps([Told(1)]))))
    kept = gc.get_freeze_count()
    assert kept > 10_000
    list(executor_work.read_pieces(executor_work.Pieces(0, pickle.dumps([Told(1)]))))
    assert gc.get_freeze_count() <= kept, "what comes later is collected"


def test_what_is_loaded_later_is_kept_too(monkeypatch: pytest.MonkeyPatch) -> None:
    executor_work.keep_what_is_loaded()
    kept = gc.get_freeze_count()
    later = [[number] for number in range(5000)]
    monkeypatch.setitem(sys.modules, "loaded_later", cast("ModuleType", later))
    executor_work.keep_what_is_loaded()
    assert gc.get_freeze_count() >= kept + len(later)


def results(pieces: executor_work.Pieces) -> list[Any]:
    return [
        pickle.loads(payload) for batch in executor_work.read_pieces(pieces) for payload in batch.column(2).to_pylist()
    ]


def test_a_connection_that_is_lost_is_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LostOnce, "tries", [])
    assert results(executor_work.Pieces(0, pickle.dumps([LostOnce()]))) == [7]
    assert len(LostOnce.tries) == 2


@pytest.mark.parametrize("hides", [True, False])
def test_where_values_are_hidden_an_error_quotes_none(hides: bool) -> None:
    (error,) = results(executor_work.Pieces(0, pickle.dumps([Quoting()]), hides=hides))
    assert isinstance(error, SparkFailure)
    assert ("hunter2" not in str(error)) is hides
