"""Decodes values of varying length: a length of one byte or of four, then bytes, perhaps compressed (pglz or LZ4)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tieout.codecs.postgres_pages.spans import PageCorruption, Places, Spans, ensure

_PGLZ, _LZ4 = 0, 1
_LONG_MATCH = 18
_GREATEST_RATIO = 256


def decompressed(data: bytes) -> bytes:
    """Decompresses what follows the length: size and method in four bytes, then data. Raises ValueError if corrupt."""
    info = int.from_bytes(data[:4], "little")
    size, method = info & 0x3FFFFFFF, info >> 30
    if size > _GREATEST_RATIO * len(data):
        raise ValueError("compressed data is garbled")
    if method == _LZ4:
        return _lz4(data[4:], size)
    if method != _PGLZ:
        raise ValueError("compressed by an unknown method")
    return _pglz(data[4:], size)


def _lz4(data: bytes, size: int) -> bytes:
    try:
        return bytes(pa.Codec("lz4_raw").decompress(data, size, asbytes=True))
    except (OSError, pa.ArrowException) as error:
        raise ValueError(str(error)) from None


def _pglz(data: bytes, size: int) -> bytes:
    """A byte of eight flags says what follows: literal bytes, or references to earlier ones."""
    result = bytearray()
    at = 0
    while at < len(data) and len(result) < size:
        flags, at = data[at], at + 1
        for bit in range(8):
            if at >= len(data) or len(result) >= size:
                break
            if flags >> bit & 1:
                at = _repeat(result, data, at)
            else:
                result.append(data[at])
                at += 1
    if len(result) != size or at != len(data):
        raise ValueError("compressed data is garbled")
    return bytes(result)


def _repeat(result: bytearray, data: bytes, at: int) -> int:
    """Appends the bytes that the reference at `at` stands for. It may overlap what it appends."""
    head = data[at : at + 3]
    if len(head) < 2:
        raise ValueError("compressed data is garbled")
    length, back = (head[0] & 0x0F) + 3, (head[0] & 0xF0) << 4 | head[1]
    at += 2
    if length == _LONG_MATCH:
        length, at = length + (head[2] if len(head) > 2 else 0), at + 1
    if not 0 < back <= len(result):
        raise ValueError("compressed data is garbled")
    begin = len(result) - back
    pattern = result[begin : begin + length]
    result += (pattern * (length // back + 1))[:length]
    return at


_OUTSIDE = "a value reaches beyond its tuple"
_LONG = 4


def aligned(at: Places, alignment: int) -> Places:
    return (at + (alignment - 1)) & -alignment


def terminated(rest: Spans) -> Spans:
    """C strings at the start of the spans, without the zero that ends them."""
    zeros = np.append(np.flatnonzero(rest.octets == 0), len(rest.octets))
    lengths = zeros[np.searchsorted(zeros, rest.starts)] - rest.starts
    ensure(lengths < rest.lengths, _OUTSIDE)
    return Spans(rest.octets, rest.starts, lengths)


def varying(rest: Spans, alignment: int) -> tuple[Spans, Places]:
    """Varlena values at the start of the spans, decompressed, and the offsets after them."""
    ends = rest.starts + rest.lengths
    at = _begin(rest, ends, alignment)
    first = rest.octets[at]
    sizes, headers = (first >> 1).astype(np.int64), np.ones(len(at), dtype=np.int64)
    is_long = first & 1 == 0
    if is_long.any():
        ensure(~is_long | (at % _LONG == 0) & (at + _LONG <= ends), _OUTSIDE)
        sizes[is_long] = rest.octets.view("<u4")[at[is_long] // _LONG] >> 2
        headers[is_long] = _LONG
    ensure((sizes >= headers) & (at + sizes <= ends), _OUTSIDE)
    found = Spans(rest.octets, at + headers, sizes - headers)
    packed = np.flatnonzero(first & 3 == 2)
    return _unpacked(found, packed) if len(packed) else found, at + sizes


def _begin(rest: Spans, ends: Places, alignment: int) -> Places:
    """A length of one byte has any offset, and is never zero; one of four bytes is aligned, after zeros."""
    ensure(rest.starts < ends, _OUTSIDE)
    at = np.where(rest.octets[rest.starts] == 0, aligned(rest.starts, alignment), rest.starts)
    ensure(at < ends, _OUTSIDE)
    return at


def _unpacked(spans: Spans, packed: Places) -> Spans:
    """Decompresses those in `packed`, and puts their bytes after all others."""
    plain = [_decompressed(spans, int(place)) for place in packed]
    starts, lengths = spans.starts.copy(), spans.lengths.copy()
    lengths[packed] = [len(value) for value in plain]
    starts[packed] = len(spans.octets) + np.cumsum(lengths[packed]) - lengths[packed]
    return Spans(np.concatenate([spans.octets, np.frombuffer(b"".join(plain), dtype=np.uint8)]), starts, lengths)


def _decompressed(spans: Spans, place: int) -> bytes:
    start = int(spans.starts[place])
    try:
        return decompressed(spans.octets[start : start + int(spans.lengths[place])].tobytes())
    except ValueError as error:
        raise PageCorruption(place, str(error)) from None
