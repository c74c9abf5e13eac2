"""Spark's Python processes: they do one thing after another, and should not pay again for what they have loaded."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame

from tieout.model.server_words import are_hidden, hidden

Mapped = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


_kept_modules = 0


def keep_what_is_loaded() -> None:
    """The processes collect garbage after all that they do: not among the modules, which are none.

    A hundred thousand objects would be looked at again for every task, for longer than most tasks take. Only if
    modules came since: what is garbage by then stays.
    """
    global _kept_modules  # noqa: PLW0603 - of a process
    if len(sys.modules) > _kept_modules:
        gc.freeze()
        _kept_modules = len(sys.modules)


def map_batches(frame: DataFrame, function: Mapped, schema: str) -> DataFrame:
    """The batches of a frame, made into others by Python. What is hidden here of servers' words is hidden there."""

    hides = are_hidden()

    def mapped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with hidden(hides):
            yield from function(batches)
        keep_what_is_loaded()

    return frame.mapInArrow(mapped, schema)
