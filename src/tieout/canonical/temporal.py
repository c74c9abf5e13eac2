"""Dates, times of day and moments."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tieout.canonical.fields import ODD, Field, is_bytes, is_textual, odd_text, status_of, to_numpy
from tieout.model.canonical_kinds import Kind

# numpy writes the year -43 with three digits, and a batch that holds infinity arrives as numpy writes it.
_DATE = re.compile(r"-?\d{3,7}-\d\d-\d\d", re.ASCII)
_MOMENT = re.compile(
    r"(-?\d{3,7}-\d\d-\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6})0*)?)?(Z|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)
_TIME = re.compile(r"(-?)(\d{1,3}):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?", re.ASCII)
_INTERVAL = re.compile(r"PT(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?)(\d+)(?:\.(\d{1,6}))?S)?", re.ASCII)

_DAY = 86_400_000_000


def date(kind: Kind, array: pa.Array) -> Field:
    """Days since 1970-01-01, proleptic Gregorian."""
    if is_textual(array) or is_bytes(array):
        return _parsed(array, _days, "<i4", _show_date)
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.date32())
    data = to_numpy(array.cast(pa.int32()), "<i4")
    return Field(status_of(array), data, None, lambda row: _show_date(int(data[row])))


def timestamp(kind: Kind, array: pa.Array) -> Field:
    """Microseconds since 1970-01-01 00:00:00: of the wall clock, or in UTC if the type has a zone."""
    if is_textual(array) or is_bytes(array):
        plain = _plain_moments(array)
        if plain is None:
            return _parsed(array, _microseconds, "<i8", _show_moment)
        array = plain
    if pa.types.is_date(array.type):
        data = to_numpy(array.cast(pa.int32()), "<i8") * np.int64(_DAY)
    else:
        if pa.types.is_timestamp(array.type):
            try:
                array = array.cast(pa.timestamp("us", array.type.tz)).cast(pa.int64())
            except pa.ArrowInvalid:  # nanoseconds
                return _parsed(array.cast(pa.string()), _microseconds, "<i8", _show_moment)
        elif pa.types.is_floating(array.type):
            return _parsed(array.cast(pa.string()), _microseconds, "<i8", _show_moment)
        data = to_numpy(array, "<i8")
    return Field(status_of(array), data, None, lambda row: _show_moment(int(data[row])))


def time(kind: Kind, array: pa.Array) -> Field:
    """Microseconds, signed: MySQL's TIME reaches beyond a day on both sides."""
    if is_textual(array) or is_bytes(array):
        return _parsed(array, _clock, "<i8", _show_time)
    if pa.types.is_time(array.type):
        array = array.cast(pa.time64("us")).cast(pa.int64())
    data = to_numpy(array, "<i8")
    return Field(status_of(array), data, None, lambda row: _show_time(int(data[row])))


def _plain_moments(array: pa.Array) -> pa.Array | None:
    """Parses text at once if all of it is in the usual form; None if not."""
    import polars as pl

    try:
        texts = pl.Series(array.cast(pa.large_string()))
    except pa.ArrowInvalid:  # not UTF-8
        return None
    usual = texts.str.contains(r"^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?$")
    if not usual.all():
        return None
    moments = texts.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)
    # The slow path decides about text that looks right but is not a moment (a zero date, hour 24).
    return None if moments.null_count() != texts.null_count() else moments.to_arrow()


def _parsed(array: pa.Array, parse: Callable[[str], int | None], dtype: str, show: Callable[[int], str]) -> Field:
    status = status_of(array)
    data: npt.NDArray[np.generic] = np.zeros(len(array), dtype=dtype)
    limits = np.iinfo(dtype)
    odd: dict[int, str] = {}
    for row, value in enumerate(array.to_pylist()):
        if value is None:
            continue
        text = odd_text(value)
        parsed = parse(text)
        if parsed is None or not limits.min <= parsed <= limits.max:
            status[row], odd[row] = ODD, text
        else:
            data[row] = parsed
    return Field(status, data, None, lambda row: show(int(data[row])), odd)


def _days(text: str) -> int | None:
    if not _DATE.fullmatch(text):
        moment = _microseconds(text)
        return moment // _DAY if moment is not None and moment % _DAY == 0 else None
    try:
        return int(np.datetime64(text, "D").astype(np.int64))
    except ValueError:
        return None


def _microseconds(text: str) -> int | None:
    match = _MOMENT.fullmatch(text)
    if match is None:
        return None
    day, hour, minute, second, fraction, zone = match.groups()
    days = _days(day)
    if days is None or int(hour or 0) > 23 or int(minute or 0) > 59 or int(second or 0) > 59:
        return None
    seconds = (int(hour or 0) * 60 + int(minute or 0)) * 60 + int(second or 0) - _zone_seconds(zone)
    return days * _DAY + seconds * 1_000_000 + int((fraction or "0").ljust(6, "0"))


def _zone_seconds(zone: str | None) -> int:
    if zone is None or zone == "Z":
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    seconds = int(digits[:2]) * 3600 + int(digits[2:]) * 60
    return -seconds if zone[0] == "-" else seconds


def _clock(text: str) -> int | None:
    match = _TIME.fullmatch(text)
    if match is None:
        return _interval(text)
    sign, hour, minute, second, fraction = match.groups()
    if int(minute) > 59 or int(second or 0) > 59:
        return None
    seconds = (int(hour) * 60 + int(minute)) * 60 + int(second or 0)
    result = seconds * 1_000_000 + int((fraction or "0").ljust(6, "0"))
    return -result if sign else result


def _interval(text: str) -> int | None:
    """An ISO interval of hours, minutes and seconds; an interval with months or days is not a time."""
    match = _INTERVAL.fullmatch(text)
    if match is None or text == "PT":
        return None
    hour, minute, sign, second, fraction = match.groups()
    micros = int(second or 0) * 1_000_000 + int((fraction or "0").ljust(6, "0"))
    return (int(hour or 0) * 60 + int(minute or 0)) * 60_000_000 + (-micros if sign else micros)


def _show_date(days: int) -> str:
    return _four_digits(str(np.datetime64(days, "D")))


def _show_moment(micros: int) -> str:
    return _four_digits(_trimmed(str(np.datetime64(micros, "us")).replace("T", " ")))


def _show_time(micros: int) -> str:
    seconds, fraction = divmod(abs(micros), 1_000_000)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{fraction:06d}"
    return _trimmed("-" + text if micros < 0 else text)


def _four_digits(text: str) -> str:
    """-043-03-15 as -0043-03-15."""
    return "-0" + text[1:] if text.startswith("-") and text.index("-", 1) == 4 else text


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
