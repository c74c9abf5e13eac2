"""Positions: places in a source's change log."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

_FILE = re.compile(r"(?P<file>.+\.(?P<number>[0-9]+)):(?P<offset>[0-9]+)(?:@(?P<gtids>[0-9,-]*))?")
_LSN = re.compile(r"(?P<high>[0-9A-F]{1,8})/(?P<low>[0-9A-F]{1,8})")


@dataclass(frozen=True)
class Position:
    """A place in one server's log, as that server writes it: what was committed up to it lies before it.

    bin.000002:4711 (with the GTIDs reached, one for each domain: bin.000002:4711@0-1-17,1-1-3), 0/16B3748,
    or a plain number. ValueError for other text.
    """

    text: str

    def __post_init__(self) -> None:
        _ = self.place

    def __str__(self) -> str:
        return self.text

    @cached_property
    def place(self) -> tuple[int, int]:
        """What orders the positions of one log."""
        if found := _FILE.fullmatch(self.text):
            return int(found["number"]), int(found["offset"])
        if found := _LSN.fullmatch(self.text):
            return int(found["high"], 16), int(found["low"], 16)
        return 0, int(self.text)

    @property
    def file(self) -> str:
        """The file of a log that is kept in files; "" otherwise."""
        found = _FILE.fullmatch(self.text)
        return found["file"] if found else ""

    @property
    def offset(self) -> int:
        """The place as one number: in its file, if the log is kept in files."""
        high, low = self.place
        return low if self.file else (high << 32) + low

    @property
    def gtids(self) -> str:
        """The last GTID of each domain, separated by commas; "" if they are not told."""
        found = _FILE.fullmatch(self.text)
        return (found["gtids"] or "") if found else ""

    def reaches(self, other: Position) -> bool:
        """Whether all that lies before `other` lies before this one too."""
        return self.place >= other.place


def lsn(number: int) -> Position:
    """PostgreSQL's position of this number."""
    return Position(f"{number >> 32:X}/{number & 0xFFFFFFFF:X}")
