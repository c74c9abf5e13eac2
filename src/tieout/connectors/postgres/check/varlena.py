"""Values of varying length as tuples hold them: a length of one byte or of four, then bytes, perhaps compressed."""

from __future__ import annotations

import numpy as np

from tieout.connectors.postgres.check.compression import decompressed
from tieout.connectors.postgres.check.page_corruption import Garbled, ensure
from tieout.connectors.postgres.check.spans import Places, Spans

_OUTSIDE = "a value reaches beyond its tuple"
_LONG = 4


def aligned(at: Places, alignment: int) -> Places:
    return (at + (alignment - 1)) & -alignment


def terminated(rest: Spans) -> Spans:
    """C strings at the begin of what is given, without the zero that ends them."""
    zeros = np.append(np.flatnonzero(rest.octets == 0), len(rest.octets))
    lengths = zeros[np.searchsorted(zeros, rest.starts)] - rest.starts
    ensure(lengths < rest.lengths, _OUTSIDE)
    return Spans(rest.octets, rest.starts, lengths)


def varying(rest: Spans, alignment: int) -> tuple[Spans, Places]:
    """Varlena values at the begin of what is given, decompressed, and what is behind them."""
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
    """A length of one byte is at any place, and never zero; one of four is at the next place for it, after zeros."""
    ensure(rest.starts < ends, _OUTSIDE)
    at = np.where(rest.octets[rest.starts] == 0, aligned(rest.starts, alignment), rest.starts)
    ensure(at < ends, _OUTSIDE)
    return at


def _unpacked(spans: Spans, packed: Places) -> Spans:
    """Those of `packed` decompressed: their bytes are behind all others."""
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
        raise Garbled(place, str(error)) from None
