"""Limits the rate of work on rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


@dataclass
class RateLimit:
    """Counts from its creation. `rows_per_second` None: no limit."""

    rows_per_second: float | None
    _began: float = field(init=False)

    def __post_init__(self) -> None:
        self._began = time.monotonic()

    def reached(self, rows: int) -> None:
        """Waits until the rate allows this number of rows in total."""
        if self.rows_per_second:
            due = self._began + rows / self.rows_per_second
            time.sleep(max(0.0, due - time.monotonic()))


def rate_limited(items: Iterator[T], rows_of: Callable[[T], int], rows_per_second: float | None) -> Iterator[T]:
    """The same items, at no more than `rows_per_second`."""
    limit, rows = RateLimit(rows_per_second), 0
    for item in items:
        yield item
        rows += rows_of(item)
        limit.reached(rows)
