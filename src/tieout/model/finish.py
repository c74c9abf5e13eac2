"""What `tieout run --finish` did on a target, and what a move has left on its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class KeyState(StrEnum):
    """What is known about a foreign key of the target."""

    VALID = "valid"
    """The target enforces it, and no row violates it."""
    VIOLATED = "violated"
    """Rows refer to rows that do not exist. A key that the target lacked could not be created for that reason."""
    NOT_ENFORCED = "not enforced"
    """No row violates it now, but the target would accept one."""
    FAILED = "failed"
    """The target did not create it, validate it, or answer whether rows violate it."""


@dataclass(frozen=True, slots=True)
class Counter:
    """A column that the target numbers, and the next number that it gives.

    `problem` is why the target can't continue after the source, if it can't.
    """

    table: str
    column: str
    next: int | None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class ForeignKeyResult:
    """`rows` is how many rows violate it, and `example` the values of one of them. `message` says what went wrong.

    `done` is what this run did to it: created or validated.
    """

    table: str
    name: str
    parent: str
    state: KeyState
    rows: int = 0
    example: str | None = None
    message: str | None = None
    done: str | None = None


@dataclass(frozen=True, slots=True)
class DisabledTrigger:
    """A trigger that the target does not run. `constraint`: the foreign key that it should enforce."""

    table: str
    name: str
    constraint: str | None = None


@dataclass(frozen=True, slots=True)
class NotMoved:
    """Something of the source that the target lacks. `table` is the table of the source that it belongs to."""

    kind: str
    name: str
    table: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class NotFinished:
    """What could not be done, and why: a table of the source, or a step of the work."""

    what: str
    reason: str


UNLISTED = "the list of what was not moved"
"""The name of that step."""


@dataclass(frozen=True, slots=True)
class Finish:
    """`tables` are the target's tables that were finished; `notes` is what the user should know besides."""

    tables: tuple[str, ...] = ()
    counters: tuple[Counter, ...] = ()
    foreign_keys: tuple[ForeignKeyResult, ...] = ()
    disabled_triggers: tuple[DisabledTrigger, ...] = ()
    not_moved: tuple[NotMoved, ...] = ()
    not_finished: tuple[NotFinished, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def has_failures(self) -> bool:
        """Whether something would go wrong once applications write to the target."""
        return (
            any(counter.problem for counter in self.counters)
            or any(key.state is not KeyState.VALID for key in self.foreign_keys)
            or any(trigger.constraint for trigger in self.disabled_triggers)
        )


def finish_document(finish: Finish) -> dict[str, Any]:
    found = asdict(finish)
    found["foreign_keys"] = [{**asdict(key), "state": key.state.value} for key in finish.foreign_keys]
    return {name: list(value) for name, value in found.items()}


def finish_from(document: Mapping[str, Any]) -> Finish:
    """What `finish_document` was made of."""
    keys = ({**key, "state": KeyState(key["state"])} for key in document["foreign_keys"])
    return Finish(
        tuple(document["tables"]),
        tuple(Counter(**each) for each in document["counters"]),
        tuple(ForeignKeyResult(**each) for each in keys),
        tuple(DisabledTrigger(**each) for each in document["disabled_triggers"]),
        tuple(NotMoved(**each) for each in document["not_moved"]),
        tuple(NotFinished(**each) for each in document["not_finished"]),
        tuple(document["notes"]),
    )
