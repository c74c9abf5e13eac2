"""Which rows that break a constraint are named, after several looks at them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tieout.checks.constraints import BreakingRow, ConstraintOutcome, ConstraintRecheck, Seen
from tieout.checks.options import CheckOptions
from tieout.errors import ReadError, TieoutError


class Looks(ConstraintRecheck):
    """Each look finds that these rows break the one constraint."""

    def __init__(self, *looks: Seen | TieoutError) -> None:
        self.rests: list[float] = []
        super().__init__(None, CheckOptions(recheck_after=0.5, recheck_times=2), self.rests.append)  # type: ignore[arg-type]
        self._looks = iter(looks)

    def _look(self, asked: Any) -> list[Seen | TieoutError]:
        return [next(self._looks) for _ in asked]


def seen(*rows: int) -> Seen:
    return Seen(100, [[BreakingRow((), (str(row),), ()) for row in rows]])


def settled(looks: Looks) -> ConstraintOutcome:
    asked: Any = SimpleNamespace(constraints=[None])
    ((result,),) = looks.run([asked])
    return result


def named(looks: Looks) -> list[str | None]:
    return [row.key[0] for row in settled(looks).breaking]


def test_what_two_looks_find_is_named() -> None:
    looks = Looks(seen(1, 2), seen(1, 2))
    assert named(looks) == ["1", "2"]
    assert looks.rests == [0.5]


def test_what_is_repaired_is_not() -> None:
    assert named(Looks(seen(1, 2), seen(2))) == ["2"]


def test_what_only_the_last_look_finds_is_not_named_and_not_forgotten() -> None:
    result = settled(Looks(seen(1), seen(1, 2), seen(1, 3)))
    assert [row.key for row in result.breaking] == [("1",)]
    assert result.unstable == 1


def test_a_look_that_fails_leaves_it_open() -> None:
    error = ReadError("the server went away")
    assert settled(Looks(seen(1), error)).error is error


def test_nothing_wrong_takes_no_rest() -> None:
    looks = Looks(seen())
    assert (named(looks), looks.rests) == ([], [])
