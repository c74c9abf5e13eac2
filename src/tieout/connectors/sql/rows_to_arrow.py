"""Rows as a Python driver gives them, as Arrow batches that `decode` takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa


def batch_of(rows: Sequence[Sequence[Any]], width: int) -> pa.RecordBatch:
    """Each column of one class (and NULL): truth values, integers, floats, bytes; all else as text."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * width
    return pa.RecordBatch.from_arrays([_array(c) for c in columns], names=[f"c{place}" for place in range(width)])


def _array(values: Sequence[Any]) -> pa.Array:
    classes = {type(value) for value in values if value is not None}
    if classes == {bool}:
        return pa.array(values, pa.bool_())
    if classes == {int}:
        for integer in (pa.int64(), pa.uint64()):
            try:
                return pa.array(values, integer)
            except (OverflowError, pa.ArrowInvalid):
                continue
    if classes == {float}:
        return pa.array(values, pa.float64())
    if classes == {bytes}:
        return pa.array(values, pa.large_binary())
    return pa.array([None if value is None else str(value) for value in values], pa.large_string())
