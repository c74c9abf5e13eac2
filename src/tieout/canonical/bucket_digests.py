"""Puts rows into buckets by the hash of their key: how two sides compare that don't sort alike."""

from __future__ import annotations

import struct
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from tieout.canonical.hashing import Words
from tieout.model.digests import EMPTY, Digest

_PACKED = struct.Struct("<IQ16s")
_ROWS_PER_BUCKET = 1_000


def bucket_count(rows: int | None) -> int:
    """A power of two: few enough to add up, and enough that a differing bucket is a small part of the table."""
    wanted = (rows or 1_000_000) // _ROWS_PER_BUCKET
    return 1 << max(6, min(14, wanted.bit_length()))


def buckets_of(keys: Words, buckets: int) -> npt.NDArray[np.uint32]:
    """The bucket of each row, from the high word of its key's hash."""
    return (keys[:, 1] & np.uint64(buckets - 1)).astype(np.uint32)


def add_buckets(total: dict[int, Digest], more: Mapping[int, Digest]) -> None:
    for bucket, digest in more.items():
        total[bucket] = total.get(bucket, EMPTY) + digest


def pack_buckets(digests: Mapping[int, Digest]) -> bytes:
    return b"".join(_PACKED.pack(b, d.count, d.total.to_bytes(16, "little")) for b, d in sorted(digests.items()))


def unpack_buckets(packed: bytes) -> dict[int, Digest]:
    return {b: Digest(count, int.from_bytes(total, "little")) for b, count, total in _PACKED.iter_unpack(packed)}
