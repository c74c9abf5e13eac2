"""Days and moments since 1970 as text, as PostgreSQL writes them: for any year, in the proleptic Gregorian calendar."""

from __future__ import annotations

import re

_DAY = 86_400_000_000
"""Microseconds."""

# PostgreSQL has no moments beyond; what stands for its infinity in events lies there, or is one of _INFINITE.
_LAST_YEAR, _FIRST_YEAR = 294_276, -4_713
_LAST_DATE_YEAR = 5_874_897
_INFINITE = {9_223_372_036_825_200_000: "infinity", -9_223_372_036_832_400_000: "-infinity"}
"""Microseconds that stand for infinity in the events of a TIMESTAMP of PostgreSQL."""

_MOMENT = re.compile(
    r"([+-]?\d{4,})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?(Z|[+-]\d\d(?::\d\d){0,2})?", re.ASCII
)
_CLOCK = re.compile(r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d(?::\d\d){0,2})?", re.ASCII)


def date_text(days: int) -> str:
    """ValueError beyond the dates that any database has: they stand for infinity, and not always for the same one."""
    year, month, day = civil(days)
    if not _FIRST_YEAR <= year <= _LAST_DATE_YEAR:
        raise ValueError("no date")
    return f"{_year(year)}-{month:02d}-{day:02d}{_era(year)}"


def moment_text(micros: int) -> str:
    if micros in _INFINITE:
        return _INFINITE[micros]
    days, rest = divmod(micros, _DAY)
    year, month, day = civil(days)
    if year > _LAST_YEAR or year < _FIRST_YEAR:
        return "infinity" if year > 0 else "-infinity"
    return f"{_year(year)}-{month:02d}-{day:02d} {clock_text(rest)}{_era(year)}"


def clock_text(micros: int) -> str:
    """A time of day, or a TIME of MySQL, which may be negative or longer than a day."""
    sign, micros = ("-", -micros) if micros < 0 else ("", micros)
    seconds, fraction = divmod(micros, 1_000_000)
    minutes, second = divmod(seconds, 60)
    text = f"{sign}{minutes // 60:02d}:{minutes % 60:02d}:{second:02d}"
    return f"{text}.{fraction:06d}" if fraction else text


def moment_of(text: str) -> int:
    """Microseconds since 1970 of an ISO date and time; in UTC if it has no offset. ValueError for other text."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise ValueError("no date and time")
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    if not (1 <= month <= 12 and 1 <= day <= 31 and hour <= 24 and minute <= 59 and second <= 60):
        raise ValueError("no date and time")
    days = days_of(year, month, day)
    if civil(days) != (year, month, day):
        raise ValueError("a day that its month does not have")
    seconds = hour * 3600 + minute * 60 + second - _offset(found[8])
    return (days * 86_400 + seconds) * 1_000_000 + _micros(found[7])


def zoned_clock(text: str) -> str:
    """A time of day with its offset, as PostgreSQL writes a TIMETZ."""
    found = _CLOCK.fullmatch(text)
    if found is None or found[5] is None:
        raise ValueError("no time of day with an offset")
    hour, minute, second = (int(part or 0) for part in found.groups()[:3])
    offset = "+00" if found[5] == "Z" else found[5]
    return clock_text(((hour * 60 + minute) * 60 + second) * 1_000_000 + _micros(found[4])) + offset


def clock_of(text: str) -> str:
    found = _CLOCK.fullmatch(text)
    if found is None:
        raise ValueError("no time of day")
    hour, minute, second = (int(part or 0) for part in found.groups()[:3])
    return clock_text(((hour * 60 + minute) * 60 + second) * 1_000_000 + _micros(found[4]))


def whole_micros(nanos: int) -> int:
    """ValueError if a database that has microseconds would round."""
    micros, rest = divmod(nanos, 1000)
    if rest:
        raise ValueError("it has nanoseconds")
    return micros


def _micros(fraction: str | None) -> int:
    return whole_micros(int((fraction or "0").ljust(9, "0")))


def _offset(text: str | None) -> int:
    if text is None or text == "Z":
        return 0
    parts = [int(part) for part in text[1:].split(":")]
    seconds = sum(part * unit for part, unit in zip(parts, (3600, 60, 1), strict=False))
    return -seconds if text[0] == "-" else seconds


def _year(year: int) -> str:
    return f"{year if year > 0 else 1 - year:04d}"


def _era(year: int) -> str:
    return "" if year > 0 else " BC"


def civil(days: int) -> tuple[int, int, int]:
    """Year (0 is 1 BC), month and day. Counts years from March, so that the leap day is the last one."""
    days += 719_468
    era, day_of_era = divmod(days, 146_097)
    year_of_era = (day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    year = year_of_era + era * 400 + (1 if month <= 2 else 0)
    return year, month, day_of_year - (153 * shifted + 2) // 5 + 1


def days_of(year: int, month: int, day: int) -> int:
    """The inverse of `civil`."""
    year -= 1 if month <= 2 else 0
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468
