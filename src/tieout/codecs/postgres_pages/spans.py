"""Values as places in a buffer, one for each row, and how bytes of any length are copied from there.

Bytes that no server writes are found by looking at whole arrays, and told by the block that they are in.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tieout.errors import ReadError

Octets = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_MOST = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Spans:
    """Value i is the bytes of `octets` from `starts[i]` on, `lengths[i]` of them. All are within it."""

    octets: Octets
    starts: Places
    lengths: Places

    def __len__(self) -> int:
        return len(self.starts)


def copied(spans: Spans) -> pa.Array:
    """The values as binary; as large binary if they are too many bytes for that.

    Arrow copies faster than numpy: the values, and what lies between them, are made one array, and then taken from it.
    For that they have to be in the order of their places.
    """
    order = np.argsort(spans.starts, kind="stable")
    starts = spans.starts[order]
    bounds = np.empty(2 * len(starts) + 1, dtype=np.int64)
    bounds[:-1:2], bounds[1::2] = starts, starts + spans.lengths[order]
    bounds[-1] = len(spans.octets)
    kind = pa.binary()
    if max(len(spans.octets), int(spans.lengths.sum())) > _MOST:
        kind = pa.large_binary()
    offsets = pa.py_buffer(bounds if kind == pa.large_binary() else bounds.astype(np.int32))
    pieces = pa.Array.from_buffers(kind, len(bounds) - 1, [None, offsets, pa.py_buffer(spans.octets)])
    places = np.empty(len(starts), dtype=np.int64)
    places[order] = np.arange(0, len(bounds) - 1, 2)
    return pieces.take(pa.array(places))


class Garbled(Exception):
    """`place` is where in the array that was looked at."""

    def __init__(self, place: int, what: str) -> None:
        super().__init__(place, what)
        self.place = place
        self.what = what


def ensure(right: Flags, what: str) -> None:
    """Raises Garbled with the first place that is not right."""
    if not right.all():
        raise Garbled(int(np.argmin(right)), what)


@contextmanager
def told(index: str, blocks: Places) -> Iterator[None]:
    """Garbled inside becomes a ReadError; `blocks` says of each place which block it is in."""
    try:
        yield
    except Garbled as error:
        where = f"index {index}, block {blocks[error.place]}"
        raise ReadError(f"{where}: {error.what}", "rebuild the index with REINDEX") from None
