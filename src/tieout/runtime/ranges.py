"""Key ranges and other units of work: how a table is divided, and in which order finished units are recorded.

Each flow has its own records in the meta store; --resume skips what they say is finished.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from tieout.model.keys import Key

T = TypeVar("T")
R = TypeVar("R")


def _never(unit: object) -> bool:
    return False


def pending(units: Iterable[T], size: int, is_done: Callable[[T], bool] = _never) -> Iterator[list[T]]:
    """Waves of `size` units, without the units that are done."""
    left = (unit for unit in units if not is_done(unit))
    while wave := list(islice(left, size)):
        yield wave


def resumable(waves: Iterable[T], do: Callable[[T], Iterable[R]], record: Callable[[Sequence[R]], None]) -> Iterator[R]:
    """Does one wave of work after another, and records what each finished before the next one starts.

    A job that is killed repeats one wave at most. The generator is lazy on purpose: it records a wave after its caller
    has taken the last result, so that everything the caller stores about a result (a failure, whose values the record
    may redact) is stored before --resume skips that work. `waves` yields the next wave after the last one is recorded:
    it may plan it from what was found, wait between two waves, or raise to stop the job.
    """
    for wave in waves:
        finished: list[R] = []
        for result in do(wave):
            finished.append(result)
            yield result
        record(finished)


def run_all(work: Iterable[T]) -> None:
    """Runs resumable work whose results nobody needs here."""
    for _ in work:
        pass


def sampled_bounds(sample: Sequence[str], rows: int, chunk_rows: int) -> list[Key]:
    """Every n-th value of a sample, so that they divide `rows` rows into chunks of `chunk_rows`."""
    step = max(1, round(chunk_rows * (len(sample) - 1) / rows))
    return [(value,) for value in sample[step:-1:step]]


SMALLEST_CHUNK, LARGEST_CHUNK = 1_000, 4_000_000
_STEP = 4


def next_chunk_rows(chunk_rows: int, rows: int, seconds: float, wanted: float) -> int:
    """How many rows the next chunk gets, after one of `rows` rows took so long, so that it takes `wanted` seconds.

    It changes by a factor of four at most: one slow answer of a busy server is not a slow server.
    """
    fitting = rows / max(seconds, 0.01) * wanted
    fitting = min(max(fitting, chunk_rows / _STEP), chunk_rows * _STEP)
    return int(min(max(fitting, SMALLEST_CHUNK), LARGEST_CHUNK))


ROOM = 32 << 20
"""Bytes of rows to hold in memory at once, as far as their length is known."""
FIRST = 16


@dataclass
class Portions:
    """Divides items into portions that fit into ROOM: starts with a few, then goes by their size, up to `most`."""

    most: int
    _size: int = FIRST

    def of(self, items: Iterator[T]) -> Iterator[list[T]]:
        """The items in portions. The caller reports the bytes of each portion's rows with `took`."""
        while portion := list(islice(items, self._size)):
            self._taken = len(portion)
            yield portion

    def took(self, size: int) -> None:
        fitting = ROOM * self._taken // max(size, 1)
        self._size = max(1, min(fitting, 2 * self._size, self.most))
