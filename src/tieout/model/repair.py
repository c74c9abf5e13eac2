"""Repair plans and their results, as data: for differences and for failures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tieout.exit_codes import ExitCode
from tieout.model.differences import Difference
from tieout.model.failures import Failure
from tieout.model.repair_choices import Choice


@dataclass(frozen=True, slots=True)
class Unrepaired:
    """A table whose differences are not repaired, how many they are, and why."""

    table: str
    differences: int
    reason: str


@dataclass(frozen=True, slots=True)
class RepairSummary:
    """A new plan; nothing has been changed. URLs are redacted.

    `vanished` differences were gone on the recheck of both sides. `skipped` rows are in the plan with the reason why
    the repair leaves them alone. The job counted `not_kept` differences without listing them: to get them, repair and
    verify again.
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

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of_work(incomplete=not self.complete)


@dataclass(frozen=True, slots=True)
class RepairResult:
    """What became of a plan's changes, all runs together, and whether their rows are equal now.

    `action` is apply or undo. `done` changes were applied, or undone; `skipped` rows had changed meanwhile or
    could not be planned; `failed` ones the engine refused. `different` counts the plan's rows that still differ
    from the source's (None: not compared, after an undo); `differences` are the first of them. `messages` say
    what was skipped and what failed, the first few. `undecided` failures of a check wait for a choice; `kept` changes
    stay after an undo, because they lose no data. `unrepaired` are the tables for which there is no change, because
    they can't be repaired.
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
    unrepaired: tuple[Unrepaired, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        return self.different == 0

    @property
    def exit_code(self) -> ExitCode:
        """FOUND: not all changes were made, or rows still differ; INCOMPLETE: some failures are undecided, or tables
        can't be repaired.
        """
        left = bool(self.skipped or self.failed or self.different)
        return ExitCode.of_work(found=left, incomplete=bool(self.undecided or self.unrepaired))


@dataclass(frozen=True, slots=True)
class Decisions:
    """What people have decided: `choices` by the name of a kind of failure or by a failure's id.

    `values` are for replaced values and for inserted parents: by COLUMN or TABLE.COLUMN, canonical text.
    `triggers`: change rows although triggers run, whatever those change elsewhere.
    """

    choices: Mapping[str, Choice] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    triggers: bool = False


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One planned change of a row, an index or a sequence, in words."""

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
    """A row that only index entries still describe. `unknown` are columns that none of them has."""

    table: str
    place: str | None
    indexes: tuple[str, ...]
    known: Mapping[str, str | None]
    unknown: tuple[str, ...]
    failures: tuple[str, ...]
    choice: str | None


@dataclass(frozen=True, slots=True)
class CheckRepairSummary:
    """A new plan; nothing has been changed. `vanished` failures were gone on the recheck."""

    plan: str
    job: str
    endpoint: str
    changes: tuple[PlannedStep, ...] = ()
    undecided: tuple[OpenFailure, ...] = ()
    left: tuple[OpenFailure, ...] = ()
    lost_rows: tuple[LostRow, ...] = ()
    vanished: int = 0
    notes: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether applying the plan would leave no failure of the job."""
        return not (self.undecided or self.left)

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of_work(incomplete=not self.complete)


def where_of(failure: Failure) -> str:
    """The row, entry or object of a failure in a few words."""
    name = failure.index or failure.constraint
    parts = [name] if name else []
    if failure.primary_key is not None:
        parts.append(" ".join(f"{column}={value}" for column, value in failure.primary_key.items()))
    elif failure.place is not None:
        parts.append(f"at {failure.place}")
    return " ".join(parts)
