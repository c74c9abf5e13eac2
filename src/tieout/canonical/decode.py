"""Turns Arrow arrays, as connectors read them, into fields of a kind."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from tieout.canonical import documents, numbers, temporal, text
from tieout.canonical.fields import Field
from tieout.model.canonical_kinds import Form, Kind

_DECODERS: dict[Form, Callable[[Kind, pa.Array], Field]] = {
    Form.BOOLEAN: numbers.boolean,
    Form.INTEGER: numbers.integer,
    Form.DECIMAL: numbers.decimal,
    Form.NUMBER: numbers.number,
    Form.SCALED_NUMBER: text.scaled_number,
    Form.FLOAT32: numbers.float32,
    Form.FLOAT64: numbers.float64,
    Form.TEXT: text.text,
    Form.BYTES: text.binary,
    Form.DATE: temporal.date,
    Form.TIMESTAMP: temporal.timestamp,
    Form.TIME: temporal.time,
    Form.UUID: text.uuid,
    Form.JSON: documents.json_value,
    Form.ARRAY: documents.array_value,
    Form.JSON_ARRAY: documents.json_array_value,
    Form.BITS: text.text,
    Form.SET: text.set_members,
    Form.INTERVAL: text.text,
    Form.OPAQUE: text.text,
}


def decode(kind: Kind, array: pa.Array) -> Field:
    """The canonical field of `array`. A value that the form can't hold becomes odd, never an error."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_null(array.type):
        # A batch of nothing but NULLs, from a driver that infers types from values.
        array = array.cast(pa.large_string())
    return _DECODERS[kind.form](kind, array)
