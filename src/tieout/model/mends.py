"""What planning the repair of a check's failures found out, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from tieout.model.failures import Failure
from tieout.model.remedies import Choice


@dataclass(frozen=True, slots=True)
class Decisions:
    """What people have decided: `choices` by the name of a kind of failure or by a failure's id.

    `values` are for what is replaced, and for parents that are inserted: by COLUMN or TABLE.COLUMN, canonical text.
    `triggers`: rows are changed although triggers run, whatever those change elsewhere.
    """

    choices: Mapping[str, Choice] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    triggers: bool = False


@dataclass(frozen=True, slots=True)
class PlannedMend:
    """One thing that would be done: of a row, an index or a sequence, in words."""

    action: str
    table: str
    what: str
    failures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OpenFailure:
    """A failure that the plan leaves: it waits for a decision between `choices`, or can't be repaired (none)."""

    id: str
    failure: str
    table: str
    where: str
    choices: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class LostRow:
    """A row that entries of indexes still tell of. `unknown` are columns that none of them has."""

    table: str
    place: str | None
    indexes: tuple[str, ...]
    known: Mapping[str, str | None]
    unknown: tuple[str, ...]
    failures: tuple[str, ...]
    choice: str | None


@dataclass(frozen=True, slots=True)
class MendSummary:
    """A plan as it was made; nothing has been changed. `vanished` failures were gone when they were looked at again."""

    plan: str
    job: str
    endpoint: str
    changes: tuple[PlannedMend, ...] = ()
    undecided: tuple[OpenFailure, ...] = ()
    left: tuple[OpenFailure, ...] = ()
    lost_rows: tuple[LostRow, ...] = ()
    vanished: int = 0
    notes: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether applying the plan would leave no failure of the job."""
        return not (self.undecided or self.left)

    def document(self) -> dict[str, Any]:
        return {"kind": "repair plan", **asdict(self)}


def where_of(failure: Failure) -> str:
    """The row, entry or object of a failure in a few words."""
    name = failure.index or failure.constraint
    parts = [name] if name else []
    if failure.primary_key is not None:
        parts.append(" ".join(f"{column}={value}" for column, value in failure.primary_key.items()))
    elif failure.place is not None:
        parts.append(f"at {failure.place}")
    return " ".join(parts)
