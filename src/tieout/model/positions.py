"""Positions in a source's change log."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from tieout.errors import LogLostError

_PLACE = re.compile(
    r"""(?: (?P<file>.+\.(?P<number>[0-9]+)) : (?P<offset>[0-9]+) (?: @ (?P<gtids>[0-9A-Za-z_:,-]*) )?
          | (?P<high>[0-9A-F]{1,8}) / (?P<low>[0-9A-F]{1,8})
          | (?P<plain>[0-9]+)
        )
        (?: \# (?P<log>[0-9A-Za-z.]+) )?
        (?: ~ (?P<tail>[0-9A-Za-z./]+) )?
        (?: ! (?P<commit>[0-9A-Za-z./]+) )?""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Position:
    """A point in one server's log: everything committed up to it lies before it.

    It is written as that server does: bin.000002:4711 (with the GTIDs reached: bin.000002:4711@0-1-17,1-1-3),
    0/16B3748, or a plain number. After it comes what distinguishes this log from others, and proves later that the
    server still has it:

    - `#LOG`: its identity. MySQL: server id and creation time of the file. PostgreSQL: system identifier, timeline and
      start of the server. SQLite: a random number from when the capture began.
    - `~TAIL`: something just before the position, and where: an event's checksum, a message of ours.
    - `!COMMIT`: the last transaction read before the position. PostgreSQL: its LSN, xid and time. MySQL: its
      time, for each domain or server that numbers transactions by itself.

    ValueError for other text.
    """

    text: str

    def __post_init__(self) -> None:
        _ = self.place

    def __str__(self) -> str:
        return self.shown

    @cached_property
    def _parts(self) -> dict[str, str | None]:
        found = _PLACE.fullmatch(self.text)
        if found is None:
            raise ValueError(f"not a position: {self.text!r}")
        return found.groupdict()

    @cached_property
    def place(self) -> tuple[int, int]:
        """The sort key of positions of one log."""
        parts = self._parts
        if parts["number"] is not None:
            return int(parts["number"]), int(parts["offset"] or 0)
        if parts["high"] is not None:
            return int(parts["high"], 16), int(parts["low"] or "0", 16)
        return 0, int(parts["plain"] or 0)

    @cached_property
    def shown(self) -> str:
        """The position without its proofs, with its GTIDs: for people and reports."""
        return re.split("[#~!]", self.text)[0] if self._file is None else self._shown_file(self._file)

    def _shown_file(self, file: str) -> str:
        # A file name may contain any of these characters.
        return file + re.split("[#~!]", self.text[len(file) :])[0]

    @property
    def _file(self) -> str | None:
        return self._parts["file"]

    @property
    def file(self) -> str:
        """The file of a log that is kept in files; "" otherwise."""
        return self._file or ""

    @property
    def offset(self) -> int:
        """The position as one number: in its file, if the log is kept in files."""
        high, low = self.place
        return low if self.file else (high << 32) + low

    @property
    def gtids(self) -> str:
        """The GTIDs reached, as the server writes them; "" if unknown."""
        return self._parts["gtids"] or ""

    @property
    def log(self) -> str:
        """The identity of the log; "" if unknown."""
        return self._parts["log"] or ""

    @property
    def server(self) -> str:
        """The server that wrote the file, if the log is kept in files and its identity is known; "" otherwise."""
        return self.log.partition(".")[0] if self.file else ""

    @property
    def tail(self) -> str:
        return self._parts["tail"] or ""

    @property
    def commit(self) -> str:
        return self._parts["commit"] or ""

    def of_log(self, log: str, *, tail: str = "", commit: str = "") -> Position:
        """The same position, with its proofs."""
        text = self.shown + (f"#{log}" if log else "") + (f"~{tail}" if tail else "")
        return Position(text + (f"!{commit}" if commit else ""))

    def with_commit_of(self, earlier: Position) -> Position:
        """The position with the last transactions before an earlier position, if none was read since."""
        commit = self.commit or earlier.commit
        if self.file:
            commit = commit_of({**moments_of(earlier.commit), **moments_of(self.commit)})
        return self.of_log(self.log, tail=self.tail, commit=commit)

    def is_same_log(self, other: Position) -> bool:
        """Whether the two positions can be compared."""
        return _is_same_log(self._lineage, other._lineage)

    @cached_property
    def _lineage(self) -> tuple[str, int, str]:
        """What distinguishes logs: the common name of their files, the file's number, and the identity."""
        return self.file.rpartition(".")[0], self.place[0] if self.file else 0, self.log

    def reaches(self, other: Position) -> bool:
        """Whether everything before `other` is also before this one. LogLostError if they belong to different logs."""
        if self._lineage != other._lineage and not self.is_same_log(other):
            raise LogLostError(
                f"{self} and {other} belong to different logs", "the server was replaced, or its log was reset"
            )
        return self.place >= other.place

    def is_same_place(self, other: Position) -> bool:
        return self.is_same_log(other) and self.place == other.place


@lru_cache(maxsize=4096)
def _is_same_log(one: tuple[str, int, str], other: tuple[str, int, str]) -> bool:
    (base, number, log), (other_base, other_number, other_log) = one, other
    if base != other_base or bool(log) is not bool(other_log):
        return False
    if not base:
        # PostgreSQL: the server may have been restarted since; the log continues.
        return log.split(".")[:2] == other_log.split(".")[:2]
    if not log:
        return True
    (server, created), (other_server, other_created) = log.split("."), other_log.split(".")
    if server != other_server:
        return False
    # A log has one file of each name and number; and a later file began later.
    earlier, later = (int(created), int(other_created)) if number < other_number else (int(other_created), int(created))
    return earlier == later if number == other_number else earlier <= later


def moments_of(commit: str) -> dict[str, str]:
    """When the last transaction of each domain or server was written, in a log of files (Position.commit)."""
    parts = (part.rpartition(".") for part in commit.split("/") if part)
    return {lineage: second for lineage, _, second in parts}


def commit_of(moments: Mapping[str, str]) -> str:
    # An earlier version did not store whose transaction it was.
    told = [lineage for lineage in sorted(moments) if lineage or len(moments) == 1]
    return "/".join(f"{lineage}.{moments[lineage]}".removeprefix(".") for lineage in told)


def lsn(number: int, log: str = "") -> Position:
    """PostgreSQL's position of this number."""
    return Position(f"{number >> 32:X}/{number & 0xFFFFFFFF:X}{f'#{log}' if log else ''}")
