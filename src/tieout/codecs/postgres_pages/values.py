"""Converts stored values to Arrow arrays, each type in the form in which PostgresReader returns it.

A NUMERIC becomes the text that PostgreSQL prints. It consists of digits in base 10000, the weight of the first one (its
power of 10000) and the number of decimal places to print. Values of usual size are written for all rows at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tieout.codecs.postgres_pages.spans import Flags, Octets, PageCorruption, Places, Spans, copied, ensure
from tieout.codecs.postgres_pages.varlena import terminated

_GARBLED = "a number is garbled"

_SIGNS, _NEGATIVE, _SHORT, _SPECIAL = 0xC000, 0x4000, 0x8000, 0xC000
_SHORT_NEGATIVE = 0x2000
_WORDS = {0xC000: "NaN", 0xD000: "Infinity", 0xF000: "-Infinity"}

_BASE, _PLACES = 10_000, 4
_GROUPS = 4
"""A value of usual size has at most this many base-10000 digits before the point, and after it."""

_WRITTEN = np.frombuffer("".join(f"{digit:04d}" for digit in range(_BASE)).encode(), dtype="<u4")
_POWERS_OF_TEN = 10 ** np.arange(1, _GROUPS * _PLACES)
_MINUS, _POINT = b"-."


@dataclass(frozen=True, slots=True)
class _Parts:
    """For each value: its header, the number of decimal places, the weight of its first digit, and the offsets of its
    digits."""

    octets: Octets
    headers: Places
    scales: Places
    weights: Places
    digits: Places
    counts: Places

    @property
    def special(self) -> Flags:
        result: Flags = self.headers & _SIGNS == _SPECIAL
        return result

    @property
    def negative(self) -> Flags:
        short = self.headers & (_SIGNS | _SHORT_NEGATIVE) == _SHORT | _SHORT_NEGATIVE
        result: Flags = short | (self.headers & _SIGNS == _NEGATIVE)
        return result

    def group(self, power: int) -> Places:
        """The base-10000 digit of this power."""
        nth = self.weights - power
        there = (nth >= 0) & (nth < self.counts)
        result = np.where(there, _half(self.octets, self.digits + 2 * np.where(there, nth, -1)), 0)
        ensure(result < _BASE, _GARBLED)
        return result


def numerics(spans: Spans) -> pa.Array:
    parts = _parts(spans)
    usual = _usual(parts)
    texts = _usual_texts(parts, np.where(usual, parts.scales, 0))
    if usual.all():
        return texts
    others = [_exact_text(parts, int(row)) for row in np.flatnonzero(~usual)]
    return pc.replace_with_mask(texts, pa.array(~usual), pa.array(others, pa.string()))


def _half(octets: Octets, at: Places) -> Places:
    return octets[at].astype(np.int64) | octets[at + 1].astype(np.int64) << 8


def _parts(spans: Spans) -> _Parts:
    ensure((spans.lengths >= 2) & (spans.lengths % 2 == 0), _GARBLED)
    headers = _half(spans.octets, spans.starts)
    short = headers & _SIGNS == _SHORT
    sizes = np.where(short | (headers & _SIGNS == _SPECIAL), 2, 4)
    ensure(spans.lengths >= sizes, _GARBLED)
    long_weights = _half(spans.octets, spans.starts + sizes - 2).astype(np.int16)
    return _Parts(
        spans.octets,
        headers,
        np.where(short, headers >> 7 & 0x3F, headers & 0x3FFF),
        np.where(short, (headers & 0x3F) - (headers & 0x40), long_weights),
        spans.starts + sizes,
        (spans.lengths - sizes) // 2,
    )


def _usual(parts: _Parts) -> Flags:
    return ~parts.special & (parts.weights < _GROUPS) & (parts.scales <= _GROUPS * _PLACES)


def _usual_texts(parts: _Parts, scales: Places) -> pa.Array:
    """The text of each value with `scales` decimal places, cut to the usual size.

    Writes all digits of a row; the text is the part from its first significant digit to the last decimal place.
    """
    before = 1 + min(int(parts.weights.max(initial=0)), _GROUPS - 1)
    after = -(-int(scales.max(initial=0)) // _PLACES)
    point = 1 + before * _PLACES
    written = np.zeros((len(scales), point + 1 + after * _PLACES), dtype=np.uint8)
    whole = np.zeros(len(scales), dtype=np.int64)
    for nth in range(before):
        digits = parts.group(before - 1 - nth)
        whole = whole * _BASE + digits
        _write(written, 1 + nth * _PLACES, digits)
    for nth in range(after):
        _write(written, point + 1 + nth * _PLACES, parts.group(-1 - nth))
    written[:, point] = _POINT
    first = point - 1 - np.searchsorted(_POWERS_OF_TEN, whole, side="right")
    negative = np.flatnonzero(parts.negative)
    first[negative] -= 1
    written[negative, first[negative]] = _MINUS
    starts = np.arange(len(scales)) * written.shape[1] + first
    lengths = point - first + np.where(scales > 0, scales + 1, 0)
    return copied(Spans(written.reshape(-1), starts, lengths)).cast(pa.string())


def _write(written: Octets, at: int, digits: Places) -> None:
    written[:, at : at + _PLACES] = _WRITTEN[digits].view(np.uint8).reshape(-1, _PLACES)


def _exact_text(parts: _Parts, row: int) -> str:
    """One value of any size."""
    header, scale = int(parts.headers[row]), int(parts.scales[row])
    if parts.special[row]:
        if header not in _WORDS:
            raise PageCorruption(row, _GARBLED)
        return _WORDS[header]
    begin, count = int(parts.digits[row]), int(parts.counts[row])
    digits = parts.octets[begin : begin + 2 * count].view("<u2").tolist()
    if max(digits, default=0) >= _BASE:
        raise PageCorruption(row, _GARBLED)
    weight = int(parts.weights[row])

    def written(powers: range) -> str:
        return "".join(f"{digits[weight - p] if 0 <= weight - p < count else 0:04d}" for p in powers)

    whole = written(range(weight, -1, -1)).lstrip("0") or "0"
    fraction = written(range(-1, -1 - -(-scale // _PLACES), -1))[:scale]
    return f"{'-' if parts.negative[row] else ''}{whole}{'.' if scale else ''}{fraction}"


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
