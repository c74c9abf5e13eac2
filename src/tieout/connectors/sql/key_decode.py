"""Keys as rows of a driver give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from tieout.canonical.decode import decode
from tieout.connectors.protocols.endpoint import Scan
from tieout.model.canonical_kinds import Incomparable, common_kind
from tieout.model.keys import Key
from tieout.model.tables import Column


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


def canonical_text(column: Column, array: pa.Array) -> str | None:
    """The only value of an array, which is of this column."""
    kind = common_kind(column.type, column.type)
    return None if isinstance(kind, Incomparable) else decode(kind, array).text(0)


def _array(value: Any) -> pa.Array:
    # Arrow takes a Python integer for a signed one of 64 bits.
    return pa.array([str(value) if isinstance(value, int) and value >= 1 << 63 else value])
