"""Texts that repeat."""

from __future__ import annotations

from collections.abc import Callable, Sequence

_MOST = 100_000


class Texts(dict[int, str]):
    """Texts of numbers, made when they are first asked for; it forgets them all when there are too many."""

    def __init__(self, make: Callable[[int], str]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, number: int) -> str:
        if len(self) >= _MOST:
            self.clear()
        text = self[number] = self._make(number)
        return text


def set_texts(labels: Sequence[str]) -> Texts:
    """Of a SET's bits: the labels of those that are set, in the order of their definition, separated by commas."""
    return Texts(lambda bits: ",".join(label for place, label in enumerate(labels) if bits >> place & 1))
