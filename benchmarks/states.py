"""How the target differs from the source: made, measured and undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from benchmarks.databases import TABLE
from tieout.model.differences import DifferenceCounts
from tieout.model.results import Verdict

NAMES = ("equal", "three-rows", "one-percent")


@dataclass(frozen=True, slots=True)
class State:
    """Statements that turn an equal target into this state, those that undo them, and what is to be found."""

    name: str
    make: Sequence[str] = ()
    undo: Sequence[str] = ()
    counts: DifferenceCounts = DifferenceCounts()

    @property
    def verdict(self) -> Verdict:
        return Verdict.DIFFERENT if self.counts else Verdict.EQUAL


def states(rows: pl.DataFrame) -> list[State]:
    """Equal; a changed, a missing and an extra row far from each other; one row in a hundred changed."""
    changed, missing, neighbour = (int(rows["id"][len(rows) * part // 4]) for part in (1, 2, 3))
    extra = neighbour + 1  # no two keys are neighbours
    everywhere = int((rows["qty"] % 100 == 0).sum())
    return [
        State(NAMES[0]),
        State(
            NAMES[1],
            (_serial("+", f"id = {changed}"), _moved(missing, extra)),
            (_serial("-", f"id = {changed}"), _moved(extra, missing)),
            DifferenceCounts(missing=1, extra=1, changed=1),
        ),
        State(
            NAMES[2],
            (_serial("+", "MOD(qty, 100) = 0"),),
            (_serial("-", "MOD(qty, 100) = 0"),),
            DifferenceCounts(changed=everywhere),
        ),
    ]


def _serial(sign: str, where: str) -> str:
    return f"UPDATE {TABLE} SET serial = serial {sign} 1 WHERE {where}"


def _moved(key: int, to: int) -> str:
    """A row under another key is one that is missing and one that is extra."""
    return f"UPDATE {TABLE} SET id = {to} WHERE id = {key}"
