"""Values that the log stores as numbers, as the server prints them: dates, times, labels, digits.

The numbers repeat, so the texts are cached.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta

_MOST = 100_000


class Texts(dict[int, str]):
    """Caches the text of each number; drops all of them when there are too many."""

    def __init__(self, make: Callable[[int], str]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, number: int) -> str:
        if len(self) >= _MOST:
            self.clear()
        text = self[number] = self._make(number)
        return text


def set_texts(labels: Sequence[str]) -> Texts:
    """Renders the bits of a SET: the labels of set bits in the order of their definition, separated by commas."""
    return Texts(lambda bits: ",".join(label for place, label in enumerate(labels) if bits >> place & 1))


_EPOCH = date(1970, 1, 1)
_DAY = 86_400


def _date(packed: int) -> str:
    """9999-15-31 at most: five bits, four, and the rest."""
    return f"{packed >> 9:04d}-{packed >> 5 & 15:02d}-{packed & 31:02d}"


def _day_of_datetime(packed: int) -> str:
    """The first 23 bits of a DATETIME: a sign that is always set, months of years with 13 of them, days."""
    months = (packed & 0x3FFFFF) >> 5
    return f"{months // 13:04d}-{months % 13:02d}-{packed & 31:02d} "


def _clock(packed: int) -> str:
    return f"{packed >> 12:02d}:{packed >> 6 & 63:02d}:{packed & 63:02d}"


def _day(days: int) -> str:
    return f"{_EPOCH + timedelta(days)} "


def _second(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


dates = Texts(_date)
datetime_days = Texts(_day_of_datetime)
clocks = Texts(_clock)
days = Texts(_day)
seconds = Texts(_second)


def moment(since_1970: int) -> str:
    """A TIMESTAMP in UTC. Zero is not a second of 1970 but the zero date."""
    if not since_1970:
        return "0000-00-00 00:00:00"
    return days[since_1970 // _DAY] + seconds[since_1970 % _DAY]


def time_text(packed: int, digits: int) -> str:
    """A TIME of three bytes and a fraction of `digits` digits, two to a byte, as one number.

    The middle of the range is 0, so that negative times sort: their fractions count downwards with them.
    """
    fraction_bits = (digits + 1) // 2 * 8
    signed = packed - (0x800000 << fraction_bits)
    whole, fraction = abs(signed) >> fraction_bits, abs(signed) & (1 << fraction_bits) - 1
    text = f"{'-' if signed < 0 else ''}{clocks[whole]}"
    if not digits:
        return text
    return f"{text}.{fraction // 10 if digits % 2 else fraction:0{digits}d}"


def old_time(number: int) -> str:
    """A TIME of the format without fractions: its decimal digits are HHMMSS."""
    size = abs(number)
    return f"{'-' if number < 0 else ''}{size // 10000:02d}:{size // 100 % 100:02d}:{size % 100:02d}"


def old_datetime(number: int) -> str:
    """A DATETIME of the format without fractions: its decimal digits are YYYYMMDDHHMMSS."""
    digits = f"{number:014d}"
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:8]} {digits[8:10]}:{digits[10:12]}:{digits[12:]}"


DIGITS = {f"digits{count}": [f"{number:0{count}d}" for number in range(10**count)] for count in range(1, 5)}
"""The texts of all numbers with 1 to 4 digits, leading zeros included, by the names that expressions use.

A lookup takes a third of the time that formatting takes.
"""


def digits_of(number: str, count: int) -> str:
    """Part of an f-string that prints the number of an expression with `count` digits, 9 at most.

    Braces are doubled, as in the value of a Form.
    """
    if count <= 4:
        return f"{{{{digits{count}[{number}]}}}}"
    if count == 6:
        return f"{{{{digits3[(u := {number}) // 1000]}}}}{{{{digits3[u % 1000]}}}}"
    return f"{{{{{number}:0{count}d}}}}"


def fraction_of(number: str, count: int) -> str:
    """The same with a point in front, for a fraction that is stored with an even number of digits; "" for 0 digits."""
    if not count:
        return ""
    return "." + (digits_of(f"({number}) // 10", count) if count % 2 else digits_of(number, count))
