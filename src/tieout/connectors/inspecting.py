"""What a connector finds wrong in the definitions of a database's objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from tieout.model.failures import FailureKind
from tieout.model.tables import TableName

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Defect:
    """`place` is the part that is wrong if it is no index and no constraint: a column, a sequence, a trigger."""

    kind: FailureKind
    details: Mapping[str, str | None]
    columns: tuple[str, ...] = ()
    index: str | None = None
    constraint: str | None = None
    place: str | None = None

    @property
    def part(self) -> tuple[str | None, str | None, str | None]:
        return self.index, self.constraint, self.place


@dataclass(frozen=True, slots=True)
class Trouble:
    """What an engine says to a statement that it can't carry out. Not `telling`: it says nothing of what was asked,
    but that it may not, or has no time."""

    message: str
    telling: bool = True


@dataclass
class Inspection:
    """One object whose definition was looked at: a table with all that is its own, a view, a routine.

    `what` it is, if it is no table. `looked_at` counts what was looked at, by nouns in the plural. `left_out` says what
    could not be, `remarks` what is worth telling and not wrong.
    """

    name: TableName
    what: str | None = None
    defects: list[Defect] = field(default_factory=list)
    looked_at: Counter[str] = field(default_factory=Counter)
    left_out: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def met(self, trouble: Trouble, defect: Defect) -> None:
        """A defect if the trouble tells of one; it is left out otherwise."""
        if trouble.telling:
            self.defects.append(defect)
        else:
            where = defect.index or defect.constraint or defect.place
            self.left_out.append(f"{where}: {trouble.message}" if where else trouble.message)


def troubles(items: Sequence[_Item], attempt: Callable[[Sequence[_Item]], Trouble | None]) -> dict[int, Trouble]:
    """Which of the items are not carried out, by their place: all at once if there is no trouble, else by halves."""
    found: dict[int, Trouble] = {}
    waiting = [(0, len(items))] if items else []
    while waiting:
        start, end = waiting.pop()
        trouble = attempt(items[start:end])
        if trouble is None:
            continue
        if end - start == 1:
            found[start] = trouble
        else:
            middle = (start + end) // 2
            waiting += [(start, middle), (middle, end)]
    return found
