"""Columns that an expression names: how they are read, and what Spark gets of their values.

A mover gives Spark the texts that the engine itself writes; so do these.
"""

from __future__ import annotations

import math

import pyarrow as pa
import pyarrow.compute as pc

from tieout.canonical.decode import decode
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.model.canonical_kinds import Form, Kind
from tieout.model.tables import Column
from tieout.model.types import TypeName

NOT_NAMED = frozenset({TypeName.OPAQUE, TypeName.UNKNOWN, TypeName.ARRAY})
"""Types whose text depends on where a mover takes it: an expression that names one is not verified."""

_READ_AS = {
    TypeName.FLOAT32: Form.FLOAT32,
    TypeName.FLOAT64: Form.FLOAT64,
    TypeName.BINARY: Form.BYTES,
    TypeName.DATE: Form.DATE,
    TypeName.TIME: Form.TIME,
    TypeName.TIMESTAMP: Form.TIMESTAMP,
    TypeName.INSTANT: Form.TIMESTAMP,
    TypeName.UUID: Form.UUID,
    TypeName.BITS: Form.BITS,
}


def named_column(column: Column, *, classed: bool) -> ScanColumn:
    """How to read a column that an expression names: with the text that the engine itself writes, where it has one."""
    return ScanColumn(
        column, Kind(Form.TEXT if classed else _READ_AS.get(column.type.name, Form.TEXT)), classed=classed
    )


def tab_text(column: ScanColumn, array: pa.Array) -> pa.Array:
    """The values of a column as a reader sends them, in tab form. UnicodeDecodeError, ArrowInvalid: not text."""
    t = column.column.type
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if column.classed:
        return array.cast(pa.string())
    if t.name is TypeName.BOOLEAN and pa.types.is_boolean(array.type):
        return pc.if_else(array, "1", "0").cast(pa.string())
    form = _READ_AS.get(t.name)
    if form is None:
        return array.cast(pa.string())
    shown = decode(Kind(form), array)
    texts = [shown.text(row) for row in range(len(shown))]
    if form is Form.BYTES:
        texts = [None if text is None else "\\" + text[1:] for text in texts]
    if form in (Form.FLOAT32, Form.FLOAT64):
        # The canonical form has one zero. Engines write two, and so do functions that make a text of them.
        texts = ["-0.0" if text == "0.0" and _is_minus_zero(array[row]) else text for row, text in enumerate(texts)]
    return pa.array(texts, pa.string())


def _is_minus_zero(zero: pa.Scalar) -> bool:
    return math.copysign(1, float(zero.as_py())) < 0
