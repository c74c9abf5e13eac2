"""Rows as a Python driver returns them, as Arrow batches that `decode` takes, and the keys in such rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from tieout.canonical.decode import decode
from tieout.connectors.protocols.endpoint import Scan
from tieout.model.canonical_kinds import Incomparable, common_kind
from tieout.model.keys import Key
from tieout.model.tables import Column


def batch_of(rows: Sequence[Sequence[Any]], width: int) -> pa.RecordBatch:
    """A column of one type (and NULL) keeps it: booleans, integers, floats, bytes. All others become text."""
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


def key_of(scan: Scan, row: Sequence[Any]) -> Key | None:
    """The canonical text of a row's order columns; None if a value has no literal on every engine."""
    texts: list[str] = []
    for column, value in zip(scan.order_columns, row, strict=True):
        field = decode(column.kind, _single(value))
        text = field.text(0)
        if field.odd or text is None:
            return None
        texts.append(text)
    return tuple(texts)


def canonical_text(column: Column, array: pa.Array) -> str | None:
    """The canonical text of the only value in an array, which belongs to this column."""
    kind = common_kind(column.type, column.type)
    return None if isinstance(kind, Incomparable) else decode(kind, array).text(0)


def _single(value: Any) -> pa.Array:
    # Arrow converts a Python integer to a signed one of 64 bits.
    return pa.array([str(value) if isinstance(value, int) and value >= 1 << 63 else value])
