"""Converts stored values to Arrow arrays, each type in the form in which PostgresReader returns it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tieout.codecs.postgres_pages.numerics import numerics
from tieout.codecs.postgres_pages.spans import Spans, copied, ensure
from tieout.codecs.postgres_pages.varlena import terminated

EPOCH_MICROS = 946_684_800_000_000
EPOCH_DAYS = 10_957
"""From 1970 to 2000, PostgreSQL's epoch."""

Decoder = Callable[[Spans], pa.Array]

_AS_CLIENTS_SEE_IT = {"UTF8", "SQL_ASCII"}


@dataclass(frozen=True, slots=True)
class Attribute:
    """One column of an index's tuples.

    `expression` is the SQL that computes it from a row of the table. `stored` names the storage format of its values: a
    type of pg_catalog, "enum", or None for anything else. `length` is fixed, or -1 for a varlena, -2 for a C string.
    """

    name: str
    expression: str
    native: str
    stored: str | None
    length: int
    alignment: int
    encoding: str
    labels: Mapping[int, str] = field(default_factory=dict)


def undecodable(attribute: Attribute) -> str | None:
    """The reason why the values of an attribute can't be read from pages; None if they can."""
    if attribute.stored not in _DECODERS and attribute.stored != "enum":
        return f"values of type {attribute.native} are not decoded"
    if attribute.stored in _TEXTUAL and attribute.encoding not in _AS_CLIENTS_SEE_IT:
        return f"its text is stored in {attribute.encoding}"
    return None


def decoder(attribute: Attribute) -> Decoder:
    if attribute.stored == "enum":
        return partial(_labels, labels=attribute.labels)
    return _DECODERS[attribute.stored or ""]


def _raw(spans: Spans, dtype: str) -> npt.NDArray[Any]:
    """Reads numbers, which are stored at multiples of their size."""
    result: npt.NDArray[Any] = spans.octets.view(dtype)[spans.starts // np.dtype(dtype).itemsize]
    return result


def _numbers(spans: Spans, dtype: str) -> pa.Array:
    return pa.array(_raw(spans, dtype))


def _booleans(spans: Spans) -> pa.Array:
    return pa.array(spans.octets[spans.starts] != 0)


def _days(spans: Spans) -> pa.Array:
    return pa.array(_raw(spans, "<i4") + np.int32(EPOCH_DAYS)).view(pa.date32())


def _moments(spans: Spans, zone: str | None) -> pa.Array:
    return pa.array(_raw(spans, "<i8") + np.int64(EPOCH_MICROS)).view(pa.timestamp("us", zone))


def _times(spans: Spans) -> pa.Array:
    return pa.array(_raw(spans, "<i8")).view(pa.time64("us"))


def _oids(spans: Spans) -> pa.Array:
    return _numbers(spans, "<u4").cast(pa.string())


def _uuids(spans: Spans) -> pa.Array:
    size = 16
    if not len(spans):
        return pa.array([], pa.binary(size))
    octets = np.lib.stride_tricks.sliding_window_view(spans.octets, size)[spans.starts]
    return pa.Array.from_buffers(pa.binary(size), len(spans), [None, pa.py_buffer(octets)])


def _labels(spans: Spans, labels: Mapping[int, str]) -> pa.Array:
    known = np.array(sorted(labels), dtype=np.int64)
    oids = _raw(spans, "<u4")
    places = np.searchsorted(known, oids)
    ensure(np.append(known, -1)[places] == oids, "a value is not a label of its enum type")
    return pa.array([labels[oid] for oid in known.tolist()], pa.string()).take(pa.array(places))


def _texts(spans: Spans) -> pa.Array:
    """Text, or binary if any of it is not UTF-8: then the index is not as the server wrote it."""
    octets = copied(spans)
    try:
        return octets.cast(pa.string() if octets.type == pa.binary() else pa.large_string())
    except pa.ArrowInvalid:
        return octets


def _padded_texts(spans: Spans) -> pa.Array:
    texts = _texts(spans)
    if pa.types.is_binary(texts.type) or pa.types.is_large_binary(texts.type):
        return pa.array([value.rstrip(b" ") for value in texts.to_pylist()], texts.type)
    return pc.ascii_rtrim(texts, characters=" ")


def _names(spans: Spans) -> pa.Array:
    """Names. One that is not part of the key has all of its 64 bytes, padded with zeros."""
    return _texts(terminated(spans))


_TEXTUAL: dict[str, Decoder] = {
    "text": _texts,
    "varchar": _texts,
    "bpchar": _padded_texts,
    "name": _names,
    "cstring": _texts,
    "json": _texts,
}

_DECODERS: dict[str, Decoder] = {
    **_TEXTUAL,
    "bool": _booleans,
    "int2": partial(_numbers, dtype="<i2"),
    "int4": partial(_numbers, dtype="<i4"),
    "int8": partial(_numbers, dtype="<i8"),
    "float4": partial(_numbers, dtype="<f4"),
    "float8": partial(_numbers, dtype="<f8"),
    "numeric": numerics,
    "date": _days,
    "time": _times,
    "timestamp": partial(_moments, zone=None),
    "timestamptz": partial(_moments, zone="UTC"),
    "oid": _oids,
    "uuid": _uuids,
    "bytea": copied,
}
