"""Python source that is being written."""

from __future__ import annotations

from struct import Struct
from typing import Any


class Source:
    """Lines of a function and what its names stand for. `columns` tells the column that a line is about."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self.columns: dict[int, str] = {}
        self._lines: list[str] = []

    @property
    def text(self) -> str:
        return "\n".join(self._lines) + "\n"

    def add(self, depth: int, line: str, column: str = "") -> None:
        self._lines.append("    " * depth + line)
        if column:
            self.columns[len(self._lines)] = column

    def unpacking(self, pattern: str) -> str:
        """A name for the function that unpacks this pattern."""
        name = f"unpack_{'little' if pattern[0] == '<' else 'big'}_{pattern[1:]}"
        self.names[name] = Struct(pattern).unpack_from
        return name
