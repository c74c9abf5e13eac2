"""Years before Christ: 0044-03-15 BC as PostgreSQL writes it, -0043-03-15 in canonical text."""

from __future__ import annotations

import re

_OURS = re.compile(r"(-[0-9]{4,7}|0000)(-[0-9]{2}-[0-9]{2}(?: .*)?)", re.DOTALL)
_THEIRS = re.compile(r"([0-9]{4,7})(-[0-9]{2}-[0-9]{2}(?: .*)?) BC", re.DOTALL)


def to_postgres(text: str) -> str:
    found = _OURS.fullmatch(text)
    # A zero date of MySQL has no month; PostgreSQL is to refuse it as it stands.
    if found is None or found[2].startswith("-00"):
        return text
    return f"{1 - int(found[1]):04d}{found[2]} BC"


def from_postgres(text: str) -> str:
    found = _THEIRS.fullmatch(text)
    if found is None:
        return text
    year = 1 - int(found[1])
    return f"{'-' if year < 0 else ''}{abs(year):04d}{found[2]}"
