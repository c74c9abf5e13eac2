"""What a server's error means to each flow. Each engine has one table of them, by its own codes, in its errors.py."""

from __future__ import annotations

from dataclasses import dataclass

from tieout.connectors.protocols.repair import Refused, TryAgain
from tieout.errors import (
    AccessError,
    BusyError,
    EndpointError,
    FullError,
    MissingObjectError,
    ReadError,
    UnreachableError,
    WriteError,
)

_RESUME = "run it again (tieout verify: with --resume)"
_READ_ONLY = "the server does not accept changes"


@dataclass(frozen=True, slots=True)
class ErrorMeaning:
    """One error of a server: which of our errors it is, what the user can do, and what each flow does about it.

    `resumable`: the hint tells a reader to run it again; a mover retries by itself. `busy`: a mover's next
    try may succeed: a lock, a cancelled statement, a server without memory. `contention`: another transaction was in
    the way, so a repair starts its own transaction again. It is independent of `busy`: SQLite's "locked" is contention
    to a repair, and unreachable to a mover. `read_only`: the server accepts no changes. `collides`: another row has the
    same unique value. `inconclusive`: says nothing about the object that a statement names (privileges, locks, memory,
    disk). `fatal`: every other statement would fail, too (a damaged file, a closed connection), so a repair ends.
    """

    error: type[EndpointError] = ReadError
    hint: str | None = None
    resumable: bool = False
    busy: bool = False
    contention: bool = False
    read_only: bool = False
    collides: bool = False
    inconclusive: bool = False
    fatal: bool = False

    def for_reader(self, message: str) -> EndpointError:
        """The error of a verification, a check or a preflight."""
        if not self.resumable:
            return self.error(message, self.hint)
        return self.error(message, f"{self.hint}; {_RESUME}" if self.hint else _RESUME)

    def for_mover(self, message: str) -> EndpointError:
        """The error of a connection that moves rows. Busy errors carry no hint: the mover retries by itself."""
        if self.busy:
            return BusyError(message)
        if self.read_only:
            return AccessError(message, _READ_ONLY)
        return (WriteError if self.error is ReadError else self.error)(message, self.hint)

    def for_repair(self, message: str, said: str, *, grant: str) -> Exception:
        """The error of one statement of a repair: `said` is the server's own line, `grant` the privileges that a repair
        needs.

        Refused if the server objects to this statement. An error that has nothing to do with the statement ends the
        repair: a full disk would refuse every other row, too.
        """
        if self.contention:
            return TryAgain(said)
        if self.read_only:
            return AccessError(message, _READ_ONLY)
        if self.error is AccessError:
            return AccessError(message, grant)
        if issubclass(self.error, UnreachableError | MissingObjectError | FullError):
            return self.for_reader(message)
        if self.fatal:
            return self.for_mover(message)
        return Refused(said, collides=self.collides)
