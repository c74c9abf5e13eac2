"""Keys as rows of a driver give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from tieout.canonical.decode import decode
from tieout.connectors.base import Scan
from tieout.model.keys import Key


def key_of(scan: Scan, row: Sequence[Any]) -> Key | None:
    """The canonical text of a row's order columns; None if a value has no literal on every engine."""
    texts: list[str] = []
    for column, value in zip(scan.order_columns, row, strict=True):
        field = decode(column.kind, _array(value))
        text = field.text(0)
        if field.odd or text is None:
            return None
        texts.append(text)
    return tuple(texts)


def _array(value: Any) -> pa.Array:
    # Arrow takes a Python integer for a signed one of 64 bits.
    return pa.array([str(value) if isinstance(value, int) and value >= 1 << 63 else value])
