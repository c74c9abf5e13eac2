"""Rows in batches: of so many, and of so many bytes together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

BATCH_BYTES = 16 << 20


def in_batches(items: Iterable[T], most: int, size: Callable[[T], int]) -> Iterator[list[T]]:
    """Each of at most `most` items. One that is larger than a batch should be is a batch by itself."""
    batch: list[T] = []
    taken = 0
    for item in items:
        wanted = size(item)
        if batch and (len(batch) == most or taken + wanted > BATCH_BYTES):
            yield batch
            batch, taken = [], 0
        batch.append(item)
        taken += wanted
    if batch:
        yield batch
