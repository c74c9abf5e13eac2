"""What a connector offers to those who check values: rules in its own SQL, and a path through the table to ask them.

Rules are asked of the engine, all of a table's at once; only what breaks one is sent. A value that the engine itself
fails on makes an error of all that is read with it: the path is then asked of ever smaller parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tieout.model.failures import FailureKind

SHOWN_BYTES = 200
"""Of a value that is shown, no more than this."""


@dataclass(frozen=True, slots=True)
class ValueRule:
    """`broken` is a condition in the engine's SQL: true of a row whose value is wrong. `says` is the rule in words.

    `shown` are what to tell of such a row: names, and expressions that give bytes or text. `constraint` is what the
    checks of constraints call it, if it is one.
    """

    kind: FailureKind
    column: str
    says: str
    broken: str
    shown: tuple[tuple[str, str], ...]
    constraint: str | None = None


@dataclass(frozen=True, slots=True)
class BrokenValue:
    """A row that breaks the `rule`th of the rules; None: the row can't be read at all.

    `place` is where it lies in the engine's own words. `error` is what the engine said, if it failed.
    """

    rule: int | None
    kind: FailureKind
    place: str | None
    key: tuple[str | None, ...] | None
    shown: tuple[tuple[str, str | None], ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """How many rows there are, and how many break each of the rules that were asked."""

    rows: int
    broken: tuple[int, ...]


class CantRead(Exception):
    """The engine fails on a value, in these words. It never leaves the piece of work. `kind`, if they tell it."""

    def __init__(self, kind: FailureKind | None, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class ValuePath(Protocol):
    """A way through the table, on executors: picklable. May raise CantRead; all other errors are not the data's."""

    @property
    def rules(self) -> tuple[ValueRule, ...]: ...

    @property
    def unjudged(self) -> tuple[tuple[str, str], ...]:
        """Columns that some rule can't be asked of, and why."""

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that rows are called by."""

    @property
    def evidence(self) -> str: ...

    def parts(self, most: int) -> Sequence[Any]:
        """Up to so many, that are all of it; picklable."""

    def pieces(self, part: Any) -> Iterator[Any]:
        """The part in smaller ones, each for one statement."""

    def judge(self, piece: Any, rules: Sequence[int]) -> Judged: ...

    def broken(self, piece: Any, rules: Sequence[int]) -> list[BrokenValue]:
        """The rows that break one of these rules, for each of them."""

    def halves(self, piece: Any) -> Sequence[Any]:
        """Two smaller ones; none if it is a single place."""

    def whose(self, piece: Any) -> tuple[str | None, tuple[str | None, ...] | None]:
        """Place and key of the row that is all of the piece, as far as they can be read."""


@dataclass(frozen=True, slots=True)
class OwnFinding:
    """What the engine's own checker says, in its words; and what they are about, as far as they tell."""

    message: str
    index: str | None = None
    column: str | None = None
    place: str | None = None


@dataclass(frozen=True, slots=True)
class OwnCheck:
    """What came of the engine's own checker for one table. `unchecked`: what kept it from going to the end."""

    name: str
    statement: str
    findings: tuple[OwnFinding, ...] = ()
    unchecked: str | None = None


def shown_text(raw: bytes | str | None) -> str | None:
    """A value as a reader sees it; what is no text, in hexadecimal."""
    if raw is None:
        return None
    if isinstance(raw, str):
        try:
            raw.encode()
        except UnicodeEncodeError:
            return shown_text(raw.encode("utf-8", "surrogateescape"))
        return raw
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        # The last character may have been cut in two.
        if len(raw) >= SHOWN_BYTES and error.start >= len(raw) - 3:
            return raw[: error.start].decode()
    return f"0x{raw.hex()}"
