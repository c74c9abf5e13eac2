"""The exit codes of every command, and the one place that chooses between them."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


class ExitCode(IntEnum):
    """What a command tells the script that called it. Documented in docs/reference/commands.md; never renumbered."""

    OK = 0
    """Everything is equal, clean or done."""
    FOUND = 1
    """The command found differences or failures, or could not carry out a whole repair."""
    FAILED = 2
    """The command could not run: usage, configuration, connection, crash; or a preflight found what prevents it."""
    INCOMPLETE = 3
    """The command ran and found nothing wrong, but something was left unverified, unmoved or undecided."""
    INTERRUPTED = 130
    """Somebody stopped the command: Ctrl-C, SIGTERM, or from another terminal."""

    @classmethod
    def of_verdict(cls, verdict: str) -> ExitCode:
        """The code of a verification's or a check's verdict."""
        return _OF_VERDICT[verdict]

    @classmethod
    def of_error(cls, error: BaseException) -> ExitCode:
        """The code of a command that ended with an exception."""
        return cls.INTERRUPTED if isinstance(error, KeyboardInterrupt) else cls.FAILED

    @classmethod
    def of_work(cls, *, failed: bool = False, found: bool = False, incomplete: bool = False) -> ExitCode:
        """The code of work without a verdict: the worst of what is true of it."""
        return cls.worst([cls.FAILED] * failed + [cls.FOUND] * found + [cls.INCOMPLETE] * incomplete)

    @classmethod
    def worst(cls, codes: Iterable[ExitCode]) -> ExitCode:
        """The code of several results together. Something found outranks something left out."""
        return min(codes, key=_WORST_FIRST.index, default=cls.OK)


_WORST_FIRST = (ExitCode.INTERRUPTED, ExitCode.FAILED, ExitCode.FOUND, ExitCode.INCOMPLETE, ExitCode.OK)
_OF_VERDICT = {
    "equal": ExitCode.OK,
    "clean": ExitCode.OK,
    "different": ExitCode.FOUND,
    "failures": ExitCode.FOUND,
    "unverified": ExitCode.INCOMPLETE,
}
