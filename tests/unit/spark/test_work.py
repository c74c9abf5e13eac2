"""What Spark's Python processes load, and what they look at again and again."""

from __future__ import annotations

import base64
import gc
import pickle
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tieout.spark import work


@dataclass(frozen=True)
class Told:
    value: int

    def run(self) -> Iterator[int]:
        yield self.value


@pytest.fixture(autouse=True)
def collected_anew() -> Iterator[None]:
    """As in a process that has done no work yet."""
    gc.unfreeze()
    work.keep_what_is_loaded.cache_clear()
    yield
    gc.unfreeze()


def test_who_plans_does_not_load_what_the_work_needs() -> None:
    pickles = [(2, b"only the task can load this"), (1, b"nor this")]
    source = work.WorkSource({"secret.work": base64.b64encode(pickle.dumps(pickles)).decode(), "cells": "0"})
    planned = source.reader(source.schema()).partitions()
    assert [(each.first, each.pickled) for each in planned] == [(0, pickles[0][1]), (2, pickles[1][1])]


def test_a_task_does_its_pieces_in_order() -> None:
    pieces = work.Pieces(5, pickle.dumps([Told(1), Told(2)]))
    rows = [row for batch in work.read_pieces(pieces) for row in batch.to_pylist()]
    assert [(row["work"], pickle.loads(row["payload"])) for row in rows] == [(5, 1), (6, 2)]


def test_what_a_task_has_loaded_is_looked_through_no_more() -> None:
    assert gc.get_freeze_count() == 0
    list(work.read_pieces(work.Pieces(0, pickle.dumps([Told(1)]))))
    kept = gc.get_freeze_count()
    assert kept > 10_000
    list(work.read_pieces(work.Pieces(0, pickle.dumps([Told(1)]))))
    assert gc.get_freeze_count() <= kept, "once: what comes later is collected"
