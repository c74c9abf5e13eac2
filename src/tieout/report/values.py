"""A row value as a person can read it and distinguish it from every other value.

NULL is bare; numbers, dates and times are bare; everything else is in quotes, so that the text 'NULL' is not NULL.
In quotes, a space at either end is ␠ and an invisible character is its escape. A long value is truncated: … is outside
the quotes, and the length follows. For a value that was truncated before it came here, the hash follows, too.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from rich.cells import cell_len

from tieout.model.differences import ValuePair
from tieout.model.truncated import TruncatedText
from tieout.report.printable import code_point, is_visible, look_alike

ROOM = 60
"""The default width of a value, in terminal cells."""

_BARE = re.compile(r"[+-]?\.?[0-9][0-9A-Za-z.:+-]*(?: [0-9][0-9.:+-]*)?|true|false")
_SPACE = "␠"


def is_bare(value: str) -> bool:
    """Whether the value needs no quotes: a number, a date or a time, a UUID that begins with a digit, true, false."""
    return _BARE.fullmatch(value) is not None


def value_text(value: str | None, room: int = ROOM) -> str:
    """One value in about `room` cells, shortened in the middle."""
    if value is None:
        return "NULL"
    if isinstance(value, TruncatedText):
        head, _ = fragment(value.beginning, 0, len(value.beginning), room)
        return f"'{head}'… ({value.length:,} bytes, xxh3 {value.hash})"
    if len(value) <= room and is_bare(value):
        return value
    text, end = fragment(value, 0, len(value), room)
    if end == len(value):
        return f"'{text}'"
    head, _ = fragment(value, 0, len(value), room // 2)
    tail, _ = fragment(value, _before(value, len(value), room // 2), len(value), room // 2)
    return f"'{head}'…'{tail}' ({len(value):,} characters)"


@dataclass(frozen=True, slots=True)
class PairText:
    """Both values as text; `where` says where their first difference is, if their beginnings are not shown."""

    source: str
    target: str
    where: str | None = None

    def __str__(self) -> str:
        return f"{self.source} → {self.target}" + (f", {self.where}" if self.where else "")


def pair_text(pair: ValuePair, room: int = ROOM) -> PairText:
    """Each value in about `room` cells; long ones are shortened to the text around their first difference."""
    source, target = pair.source, pair.target
    if isinstance(source, TruncatedText) or isinstance(target, TruncatedText):
        return PairText(value_text(source, room), value_text(target, room), _same_beginning(source, target))
    one, other = value_text(source, room), value_text(target, room)
    if source is None or target is None or (_fits(source, room) and _fits(target, room) and not look_alike(one, other)):
        return PairText(one, other)
    first = first_difference(source, target)
    windows = _window(source, first, room), _window(target, first, room)
    if look_alike(windows[0].text, windows[1].text):
        windows = _window(source, first, room, exact=True), _window(target, first, room, exact=True)
    where = f"first difference at character {first + 1:,}" if windows[0].start else None
    return PairText(str(windows[0]), str(windows[1]), where)


def _same_beginning(source: str | None, target: str | None) -> str | None:
    if source is None or target is None:
        return None
    one, other = (v.beginning if isinstance(v, TruncatedText) else v for v in (source, target))
    return f"the first {first_difference(one, other):,} characters are the same"


def first_difference(one: str, other: str) -> int:
    """The index of the first character that differs; the shorter length, if none does."""
    # By halves and slices: a loop over characters takes seconds when documents of megabytes differ.
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def fragment(value: str, start: int, stop: int, room: int, exact: bool = False) -> tuple[str, int]:
    """The visible form of value[start:stop] in `room` cells, and the index where it ends.

    `exact` spells out every character that is not ASCII.
    """
    begin, end = len(value) - len(value.lstrip(" ")), len(value.rstrip(" "))
    shown: list[str] = []
    used = 0
    for index in range(start, stop):
        token = _token(value[index], exact or (index == start and unicodedata.combining(value[index]) > 0))
        if token == " " and not begin <= index < end:
            token = _SPACE
        used += cell_len(token)
        if used > room and shown:
            return "".join(shown), index
        shown.append(token)
    return "".join(shown), stop


def _token(character: str, exact: bool) -> str:
    """`exact` is also for a combining mark that comes first: it would combine with our own quote."""
    if character in "\\'":
        return f"\\{character}"
    if character == _SPACE or not is_visible(character) or (exact and not character.isascii()):
        return code_point(character)
    return character


def _before(value: str, stop: int, room: int, exact: bool = False) -> int:
    """The index from which the text before `stop` takes at most `room` cells."""
    start = stop
    while start > 0:
        room -= cell_len(_token(value[start - 1], exact))
        if room < 0:
            break
        start -= 1
    return start


@dataclass(frozen=True, slots=True)
class _Window:
    """A part of a value, and whether there is more on either side."""

    text: str
    start: int
    end: int
    length: int

    def __str__(self) -> str:
        more = self.end < self.length
        length = f" ({self.length:,} character{'' if self.length == 1 else 's'})" if self.start or more else ""
        return f"{'…' if self.start else ''}'{self.text}'{'…' if more else ''}{length}"


def _window(value: str, first: int, room: int, exact: bool = False) -> _Window:
    start = _before(value, first, room // 3, exact)
    text, end = fragment(value, start, len(value), room, exact)
    if end <= first:  # the text before the difference left no room for it
        start = first
        text, end = fragment(value, start, len(value), room, exact)
    return _Window(text, start, end, len(value))


def _fits(value: str, room: int) -> bool:
    return fragment(value, 0, len(value), room)[1] == len(value)
