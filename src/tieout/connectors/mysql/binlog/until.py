"""Where a reader stops."""

from __future__ import annotations

from tieout.model.positions import Position

_NEVER = 1 << 64


class Until:
    """Compares places with the one to stop at. Only the file's first event costs a look at its name."""

    def __init__(self, position: Position) -> None:
        self._number, self._offset = position.place
        self._file = ""
        self._least = _NEVER

    def reached(self, file: str, end: int) -> bool:
        if file != self._file:
            number = int(file.rpartition(".")[2])
            self._file = file
            self._least = self._offset if number == self._number else 0 if number > self._number else _NEVER
        return end >= self._least

    def passed(self, file: str, end: int) -> bool:
        """Whether the place lies behind it."""
        return self.reached(file, end - 1)
