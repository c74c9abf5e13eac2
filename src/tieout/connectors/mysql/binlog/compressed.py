"""What MariaDB compresses in its log: events (log_bin_compress) and columns (COMPRESSED)."""

from __future__ import annotations

import zlib

_RAW = -zlib.MAX_WBITS


def inflated_event(data: bytes) -> bytes:
    """A byte that says how long the length is, the length, and zlib's data."""
    return zlib.decompress(data[1 + (data[0] & 7) :], bufsize=int.from_bytes(data[1 : 1 + (data[0] & 7)], "big") or 1)


def inflated_value(data: bytes) -> bytes:
    """A value of a compressed column: empty, as it is behind a zero, or in zlib's format with or without its header."""
    if not data:
        return data
    method = data[0] >> 4
    if method == 0:
        return data[1:]
    if method != 8:
        raise zlib.error(f"unknown method {method}")
    return zlib.decompress(data[1 + (data[0] & 7) :], _RAW if data[0] & 8 else zlib.MAX_WBITS)
