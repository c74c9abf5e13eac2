"""Texts that Spark reads as another moment each time."""

from __future__ import annotations

import re

_RELATIVE = re.compile(r"\s*(now|today|yesterday|tomorrow)\b", re.IGNORECASE)


def is_relative_moment(text: str) -> bool:
    """Whether a text means another date or timestamp each day. A time zone may follow the word."""
    return _RELATIVE.match(text) is not None
