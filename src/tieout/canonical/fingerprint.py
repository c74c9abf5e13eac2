"""Fingerprints of rows, and digests of sets of rows.

The record that is hashed: a status byte for each column; the fields, each of a width fixed by its
form (the value itself, or the 128-bit hash of a value of variable length; zeros unless present); the
hash of the row's odd values (zeros if it has none). Its layout follows from the kinds alone, so two
records are equal exactly if the rows are, up to a collision of a 128-bit hash.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tieout.canonical.fields import PRESENT, Field, odd_hashes
from tieout.canonical.hashing import Words, hash_records
from tieout.model.digests import EMPTY, MODULUS, Digest


def fingerprints(fields: Sequence[Field]) -> Words:
    """The fingerprint of each row."""
    return hash_records(records(fields))


def records(fields: Sequence[Field]) -> npt.NDArray[np.void]:
    """The canonical record of each row, as one packed structured array."""
    rows = len(fields[0])
    words = [_opaque(item.words()) for item in fields]
    layout: list[tuple[str, object, tuple[int, ...]]] = [("status", np.uint8, (len(fields),))]
    layout += [(f"f{place}", word.dtype, word.shape[1:]) for place, word in enumerate(words)]
    layout.append(("odd", np.uint64, (2,)))
    result: npt.NDArray[np.void] = np.zeros(rows, dtype=np.dtype(layout))
    for place, (item, word) in enumerate(zip(fields, words, strict=True)):
        target = result[f"f{place}"]
        target[...] = word
        absent = item.status != PRESENT
        if absent.any():  # zero is the status of a value, and of what was not written
            result["status"][:, place] = item.status
            target[absent] = np.zeros((), dtype=word.dtype)
    odd = odd_hashes(list(fields), rows)
    if odd is not None:
        result["odd"] = odd
    return result


def _opaque(words: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """Turns items of several parts into plain bytes: copying them whole takes half the time."""
    return words if words.dtype.names is None else np.ascontiguousarray(words).view(f"V{words.dtype.itemsize}")


def digest(prints: Words) -> Digest:
    """Count and sum of fingerprints."""
    if len(prints) == 0:
        return EMPTY
    return Digest(len(prints), _total([_lane(prints, lane).sum(dtype=np.uint64) for lane in range(4)]))


def digests_by_bucket(prints: Words, buckets: npt.NDArray[np.uint32]) -> dict[int, Digest]:
    """The digest of each bucket's rows, without buckets that have none."""
    if len(prints) == 0:
        return {}
    order = np.argsort(buckets, kind="stable")
    ordered = buckets[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    counts = np.diff(np.append(starts, len(ordered)))
    lanes = [np.add.reduceat(_lane(prints, lane)[order], starts) for lane in range(4)]
    return {
        int(ordered[start]): Digest(int(count), _total([lane[i] for lane in lanes]))
        for i, (start, count) in enumerate(zip(starts, counts, strict=True))
    }


def _lane(prints: Words, lane: int) -> npt.NDArray[np.uint64]:
    """One 32-bit lane of each fingerprint, in 64 bits: 2^32 of them add up without overflow."""
    word = prints[:, lane // 2]
    return word >> np.uint64(32) if lane % 2 else word & np.uint64(0xFFFFFFFF)


def _total(lanes: Sequence[np.uint64]) -> int:
    return sum(int(value) << (32 * lane) for lane, value in enumerate(lanes)) % MODULUS
