"""Values as offsets and lengths in a buffer, one for each row; copying them; and reporting corrupt pages.

Decoders test whole arrays for bytes that no server writes, and report the block of the first one.
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
    """Value i is `lengths[i]` bytes of `octets` from `starts[i]` on. All are within bounds."""

    octets: Octets
    starts: Places
    lengths: Places

    def __len__(self) -> int:
        return len(self.starts)


def copied(spans: Spans) -> pa.Array:
    """The values as binary, or as large binary if they have too many bytes.

    Arrow copies faster than numpy: the values, and the bytes between them, become one array, and Arrow takes the values
    from it. For that they have to be in the order of their offsets.
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


class PageCorruption(Exception):
    """A corrupt page. `place` is the index in the array that was tested."""

    def __init__(self, place: int, what: str) -> None:
        super().__init__(place, what)
        self.place = place
        self.what = what


def ensure(right: Flags, what: str) -> None:
    """Raises PageCorruption with the first index that is False."""
    if not right.all():
        raise PageCorruption(int(np.argmin(right)), what)


@contextmanager
def naming_block(index: str, blocks: Places) -> Iterator[None]:
    """Turns PageCorruption inside the block into a ReadError; `blocks` has the block of each index."""
    try:
        yield
    except PageCorruption as error:
        where = f"index {index}, block {blocks[error.place]}"
        raise ReadError(f"{where}: {error.what}", "rebuild the index with REINDEX") from None
