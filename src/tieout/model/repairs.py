"""What planning a repair found out, and what carrying it out came to, as data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tieout.model.differences import Difference
from tieout.model.documents import difference_document


@dataclass(frozen=True, slots=True)
class Unrepaired:
    """A table whose differences are not repaired, how many they are, and why."""

    table: str
    differences: int
    reason: str


@dataclass(frozen=True, slots=True)
class RepairSummary:
    """A plan as it was made; nothing has been changed. URLs are redacted.

    `vanished` differences were gone when both sides were looked at again. `skipped` rows are in the plan with
    the reason why they are left alone. `not_kept` differences were counted by the job and not listed: repair,
    verify again, and they show.
    """

    plan: str
    job: str
    source: str
    target: str
    inserts: int = 0
    updates: int = 0
    deletes: int = 0
    skipped: int = 0
    vanished: int = 0
    not_kept: int = 0
    unrepaired: tuple[Unrepaired, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def changes(self) -> int:
        return self.inserts + self.updates + self.deletes

    @property
    def complete(self) -> bool:
        """Whether applying the plan would leave no difference of the job."""
        return not (self.skipped or self.not_kept or self.unrepaired)

    def document(self) -> dict[str, Any]:
        return {"kind": "repair plan", **asdict(self)}


@dataclass(frozen=True, slots=True)
class RepairResult:
    """What became of a plan's changes, all runs together, and whether their rows are equal now.

    `action` is apply or undo. `done` changes were applied, or undone; `skipped` rows had changed meanwhile or
    could not be planned; `failed` ones the engine refused. `different` counts the plan's rows that still differ
    from the source's (None: not looked at, after an undo); `differences` are the first of them. `messages` say
    what was skipped and what failed, the first few. `undecided` failures of a check wait for a choice; `kept` changes
    stay after an undo, as nothing is lost by them.
    """

    plan: str
    job: str
    action: str
    done: int
    skipped: int
    failed: int
    different: int | None = None
    differences: tuple[Difference, ...] = ()
    messages: tuple[str, ...] = ()
    undecided: int = 0
    kept: int = 0
    notes: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        return self.different == 0

    @property
    def exit_code(self) -> int:
        """0: all done (and equal, if that was looked at); 1: not all, or rows still differ; 3: some are undecided."""
        if self.skipped or self.failed or self.different:
            return 1
        return 3 if self.undecided else 0

    def document(self) -> dict[str, Any]:
        rest = {name: value for name, value in asdict(self).items() if name != "differences"}
        return {"kind": "repair", **rest, "differences": [difference_document(each) for each in self.differences]}
