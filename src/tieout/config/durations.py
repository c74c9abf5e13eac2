"""Durations as people write them: 500ms, 10s, 30m, 2h, 1d, 1h30m."""

from __future__ import annotations

import re

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")
_WHOLE = re.compile(rf"(?:{_PART.pattern})+")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def parse_duration(text: str) -> float:
    """Seconds; a number without a unit is seconds. ValueError says what to write instead."""
    compact = text.strip().lower().replace(" ", "")
    if _NUMBER.fullmatch(compact):
        return float(compact)
    if not _WHOLE.fullmatch(compact):
        raise ValueError(f'"{text}" is not a duration (write 500ms, 10s, 30m, 2h or 1d)')
    return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(compact))


def parse_positive_duration(text: str) -> float:
    """As `parse_duration`, but 0 is an error."""
    seconds = parse_duration(text)
    if seconds <= 0:
        raise ValueError(f'should be more than 0, not "{text}"')
    return seconds


def seconds_text(seconds: float) -> str:
    """Seconds as a plain number, to the microsecond: 0.5, 90."""
    return f"{seconds:.6f}".rstrip("0").rstrip(".")
