"""PostgreSQL's intervals as the times of MySQL: hours may be many, and all of it below zero."""

from __future__ import annotations

import re

_HOURS = re.compile(r"PT(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?\d+)(\.\d+)?S)?", re.ASCII)


def clock_text(text: str) -> str:
    """Of an interval as ISO 8601 writes it. One with months or days is no time: it stays as it is."""
    match = _HOURS.fullmatch(text)
    if match is None:
        return text
    hours, minutes, seconds = (abs(int(part or 0)) for part in match.groups()[:3])
    return f"{'-' if '-' in text else ''}{hours:02d}:{minutes:02d}:{seconds:02d}{match[4] or ''}"


def clock_sql(reference: str) -> str:
    """The same in SQL, in a session that writes intervals so."""
    sign = f"CASE WHEN {reference} < make_interval(secs => 0) THEN '-' ELSE '' END"
    clock = f"to_char(greatest({reference}, -{reference}), 'HH24:MI:SS.US')"
    return f"CASE WHEN {reference}::text LIKE 'PT%' THEN {sign} || {clock} ELSE {reference}::text END"
