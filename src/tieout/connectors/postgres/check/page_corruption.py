"""Bytes that no server writes: found by looking at whole arrays, told by the block that they are in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from tieout.connectors.postgres.check.spans import Flags, Places
from tieout.errors import ReadError


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
