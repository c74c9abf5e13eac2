"""Numbers that are only themselves."""

from __future__ import annotations

from typing import Any


class Real(float):
    """A REAL of SQLite: not the INTEGER of the same value, and 0.0 is not -0.0. Images are told apart by it."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Real) and self.hex() == other.hex()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(("real", self.hex()))


def real(value: Any) -> Any:
    """A value of an image: as it is, unless it is a float."""
    return Real(value) if type(value) is float else value
