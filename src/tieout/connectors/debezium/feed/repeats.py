"""Whether an event of an earlier schema is one that comes again: its place in the source's own log says so.

A source locks a table while its columns change. So an event that its log has before the first one with a new column
was delivered before it, too; one that comes after that comes again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_NUMBERED = re.compile(r"(.*?)(\d+)", re.ASCII)
_NUMBERS = ("lsn", "scn")
_TEXTS = ("commit_lsn", "change_lsn")
"""Texts of one length are in the order of the log."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the source's log has an event. Places compare within one `log`. `at`: microseconds since 1970."""

    log: tuple[str, ...]
    order: tuple[int | str, ...]
    at: int

    def precedes(self, other: Place) -> bool:
        """A source that was restored from an earlier copy has low places again, but later times."""
        return self.log == other.log and self.order < other.order and self.at <= other.at

    def contradicts(self, other: Place) -> bool:
        """Whether its place is before the other one and its time is not."""
        return self.log == other.log and self.order < other.order and self.at > other.at


def place_of(source: Mapping[str, Any], at: int) -> Place | None:
    """None if an event does not tell it: that of another connector, or one without a time."""
    log = str(source.get("connector") or ""), str(source.get("name") or "")
    if not at:
        return None
    named = _NUMBERED.fullmatch(str(source.get("file") or ""))
    if named is not None and type(source.get("pos")) is int:
        server = str(source.get("server_id") or "")
        order = int(named[2]), source["pos"], int(source.get("row") or 0)
        return Place((*log, server, named[1]), order, at)
    for name in _NUMBERS:
        if str(source.get(name) or "").isdecimal():
            return Place((*log, name), (int(source[name]),), at)
    for name in _TEXTS:
        if isinstance(text := source.get(name), str) and text:
            return Place((*log, name, str(len(text))), (text,), at)
    return None
