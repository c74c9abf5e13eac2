"""What the meta store takes and gives: frozen values, free of SQLAlchemy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from tieout.model.differences import Difference, DifferenceCounts
from tieout.model.digests import Digest
from tieout.model.keys import EVERYTHING, KeyRange


class JobKind(StrEnum):
    VERIFICATION = "verification"
    REPAIR = "repair"
    MOVE = "move"
    CHECK = "check"


class JobState(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    """Its process was stopped, or no longer writes heartbeats."""
    STOPPED = "stopped"
    """It ended because a user asked for it: a move, which goes on when it runs again."""


class Wanted(StrEnum):
    """What another terminal wants the process of a job to do."""

    PAUSE = "pause"
    CANCEL = "cancel"
    STOP = "stop"


class TableState(StrEnum):
    PLANNED = "planned"
    RUNNING = "running"
    DONE = "done"


class Side(StrEnum):
    SOURCE = "source"
    TARGET = "target"
    BOTH = "both"


class RangeState(StrEnum):
    PLANNED = "planned"
    DONE = "done"
    """Digested; equal as far as its side can tell."""
    SUSPECT = "suspect"
    """Its digests differ; rows not compared yet."""
    COMPARED = "compared"
    """Rows compared; its differences are all recorded."""


class RepairState(StrEnum):
    DRAFT = "draft"
    """Its changes are still being written; never applied."""
    PLANNED = "planned"
    APPLYING = "applying"
    APPLIED = "applied"
    UNDOING = "undoing"
    UNDONE = "undone"
    FAILED = "failed"


class ChangeAction(StrEnum):
    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"
    REBUILD = "rebuild"
    """An index."""
    ADVANCE = "advance"
    """A sequence."""
    NONE = "none"
    """Nothing to do, or nobody has decided what."""


class ChangeState(StrEnum):
    PLANNED = "planned"
    APPLIED = "applied"
    SKIPPED = "skipped"
    FAILED = "failed"
    UNDONE = "undone"
    UNDECIDED = "undecided"
    """Nothing is done until somebody decides what to do."""


@dataclass(frozen=True, slots=True)
class Job:
    """A piece of long work. `source` and `target` are redacted; `pid` and `host` name its last process.

    Its result document may be large and is read by itself: `Jobs.result`.
    """

    id: str
    kind: JobKind
    state: JobState
    source: str
    target: str | None
    request: Mapping[str, Any]
    started_at: datetime
    updated_at: datetime
    heartbeat_at: datetime
    task: str | None = None
    verdict: str | None = None
    wanted: Wanted | None = None
    finished_at: datetime | None = None
    pid: int | None = None
    host: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class JobTable:
    """A table of a job. `rows_done` is the sum of `rows` over its recorded ranges."""

    ordinal: int
    source_table: str | None
    target_table: str | None
    state: TableState = TableState.PLANNED
    plan: Mapping[str, Any] | None = None
    seed: str | None = None
    result: Mapping[str, Any] | None = None
    rows_done: int = 0


@dataclass(frozen=True, slots=True)
class FinishedRange:
    """What a job now knows of a planned range.

    `differences` are those of its rows, all of them, and replace what was recorded; None leaves those that
    were appended in parts.
    """

    ordinal: int
    side: Side = Side.BOTH
    state: RangeState = RangeState.DONE
    source_digest: Digest | None = None
    target_digest: Digest | None = None
    buckets: bytes | None = None
    rows: int = 0
    seconds: float = 0.0
    counts: DifferenceCounts | None = None
    differences: Sequence[Difference] | None = ()


@dataclass(frozen=True, slots=True)
class StoredRange:
    """A range as it was planned and recorded. Its differences are read with `Differences.iterate`."""

    ordinal: int
    side: Side = Side.BOTH
    keys: KeyRange = EVERYTHING
    state: RangeState = RangeState.PLANNED
    source_digest: Digest | None = None
    target_digest: Digest | None = None
    buckets: bytes | None = None
    rows: int = 0
    seconds: float = 0.0
    counts: DifferenceCounts | None = None


@dataclass(frozen=True, slots=True)
class RepairPlan:
    """Changes that would end what a job found: the differences of a target, the failures of a database.

    `table` None: all the tables of the job.
    """

    id: str
    job_id: str
    state: RepairState
    created_at: datetime
    updated_at: datetime
    table: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RepairChange:
    """One row to change. Rows map columns to canonical text, all of it, however long; `old_row` is what undo restores.

    The store numbers changes from 0 (`sequence`). `details` belong to repairs of what a check found: which failures the
    change ends, and what it needs besides the row.
    """

    table: str
    action: ChangeAction
    key: Mapping[str, str | None]
    old_row: Mapping[str, str | None] | None = None
    new_row: Mapping[str, str | None] | None = None
    sequence: int = -1
    state: ChangeState = ChangeState.PLANNED
    message: str | None = None
    details: Mapping[str, Any] | None = None

    @property
    def size(self) -> int:
        """Characters of its rows."""
        rows = (self.old_row or {}, self.new_row or {})
        return sum(len(text) for row in rows for text in row.values() if text is not None)


@dataclass(frozen=True, slots=True)
class ChangeOutcome:
    """What became of a change. `old_row`, if set, replaces the planned one: the row as the repair found it."""

    sequence: int
    state: ChangeState
    message: str | None = None
    old_row: Mapping[str, str | None] | None = field(default=None)
