"""Work on executors: a part of a table, asked all its rules at once; where the engine fails, in ever smaller parts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tieout.connectors.protocols.paths import BrokenValue, CantRead, ValuePath
from tieout.model.failures import FailureKind
from tieout.pace import Pace

MOST = 10_000
"""Of a part: an expression that was changed makes all of its values wrong."""
MOST_UNREADABLE = 500
"""Each takes some dozens of statements to find."""

_FAILING = (FailureKind.INVALID_JSON, FailureKind.WRONG_GENERATED_VALUE)
"""What a value is called whose rule fails; any other can't be read at all."""


@dataclass(frozen=True, slots=True)
class Found:
    """What came of a part. `cut`: what was found is not all that there is."""

    rows: int
    broken: tuple[BrokenValue, ...]
    cut: bool = False


@dataclass(frozen=True)
class JudgeValues:
    """The values of a part of a table. It rests for `pause` seconds between two pieces of it."""

    path: ValuePath
    part: Any
    rows_per_second: float | None = None
    pause: float = 0.0

    def run(self) -> Iterator[Found]:
        pace, rows = Pace(self.rows_per_second), 0
        found: list[BrokenValue] = []
        for piece in self.path.pieces(self.part):
            for more, broken in self._judged(piece):
                rows += more
                found += broken
                if len(found) >= MOST or sum(each.error is not None for each in found) >= MOST_UNREADABLE:
                    yield Found(rows, tuple(found[:MOST]), cut=True)
                    return
            pace.reached(rows)
            time.sleep(self.pause)
        yield Found(rows, tuple(found))

    def _judged(self, piece: Any) -> Iterator[tuple[int, Sequence[BrokenValue]]]:
        """Rows, and what is wrong with them, piece by piece: as large as can be read."""
        try:
            yield self._asked(piece)
            return
        except CantRead as error:
            failed = error
        try:
            halves = self.path.halves(piece)
        except CantRead:
            halves = ()  # not even the keys can be read
        if halves:
            for half in halves:
                yield from self._judged(half)
        else:
            yield 1, self._one(piece, failed)

    def _asked(self, piece: Any) -> tuple[int, Sequence[BrokenValue]]:
        judged = self.path.judge(piece, range(len(self.path.rules)))
        broken = [rule for rule, count in enumerate(judged.broken) if count]
        return judged.rows, self.path.broken(piece, broken) if broken else ()

    def _one(self, piece: Any, failed: CantRead) -> list[BrokenValue]:
        """What is wrong with the row that all else was read without: each rule is asked alone.

        What can't be read makes whatever is computed from it fail, in the same words: that is told once.
        """
        found: list[BrokenValue] = []
        lost: set[str] = set()
        for number, rule in enumerate(self.path.rules):
            if rule.column in lost:
                continue
            try:
                if self.path.judge(piece, [number]).broken[0]:
                    found += self.path.broken(piece, [number])
            except CantRead as error:
                if error.message not in {each.error for each in found}:
                    found.append(self._unreadable(piece, number, error))
                lost.add(rule.column)
        return found or [self._unreadable(piece, None, failed)]

    def _unreadable(self, piece: Any, number: int | None, error: CantRead) -> BrokenValue:
        place, key = self.path.whose(piece)
        rule = None if number is None else self.path.rules[number].kind
        kind = error.kind or (rule if rule in _FAILING else None) or FailureKind.INVALID_VALUE
        return BrokenValue(number, kind, place, key, error=error.message)
