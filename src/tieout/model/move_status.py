"""The status of a task: how far its mover is, and what the mover's process should do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from tieout.exit_codes import ExitCode
from tieout.model.finish import Finish


@dataclass(frozen=True, slots=True)
class TableMoveStatus:
    """One table of a task.

    `transaction` is the last one of the source that changed the table of the target, and `committed_at` its time in
    microseconds since 1970. `stopped` is why the mover no longer applies changes to it.
    """

    source: str
    target: str | None
    chunks: int = 0
    chunks_done: int = 0
    rows_copied: int = 0
    rows_estimated: int | None = None
    transaction: str | None = None
    committed_at: int | None = None
    stopped: str | None = None


@dataclass(frozen=True, slots=True)
class RowNotFound:
    """A change whose row the target did not have: an `update`, whose row the mover has inserted, or a `delete`.

    `key` is by column; None for a row without a key, and for `rows` that are only counted, whose
    `kind` is None if they are of both. `position`: where the batch ends that has the change.
    """

    table: str
    kind: str | None
    key: Mapping[str, str | None] | None
    position: str
    rows: int = 1


@dataclass(frozen=True, slots=True)
class MoveStatus:
    """What a mover last reported of itself. Rates and lags are None when no mover runs.

    `chosen` says why the mover chose the delivery and the consistency, if the task does not. `newest_commit` is the
    time of the last applied transaction, in microseconds since 1970. `left_behind` is what stays at the source while no
    mover runs; `log_limit` says how long the source keeps its log. `finish` is what `tieout run --finish` did, if the
    mover did that. `not_found` are changes whose rows the target lacked, of earlier movers of the task, too.
    """

    task: str
    state: str
    message: str | None
    delivery: str
    consistency: str | None
    chosen: tuple[str, ...]
    position: str | None
    consistent_from: str | None
    changes: int
    rows_per_second: float | None
    newest_commit: int | None
    lag_seconds: float | None
    lag_bytes: int | None
    log_kept_bytes: int | None
    log_limit: str | None
    log_warning: str | None
    left_behind: str | None
    seconds_left: float | None
    tables: tuple[TableMoveStatus, ...]
    remarks: tuple[str, ...]
    updated_at: datetime
    finish: Finish | None = None
    not_found: tuple[RowNotFound, ...] = ()

    @property
    def rows_copied(self) -> int:
        return sum(table.rows_copied for table in self.tables)

    @property
    def is_copied(self) -> bool:
        return all(table.chunks_done == table.chunks for table in self.tables)

    @property
    def exit_code(self) -> ExitCode:
        """INCOMPLETE if a table was stopped: what is moved is right, but not all of it. FOUND if finishing found that
        something on the target would go wrong.
        """
        return ExitCode.of_work(
            found=self.finish is not None and self.finish.has_failures,
            incomplete=any(table.stopped for table in self.tables)
            or (self.finish is not None and bool(self.finish.not_finished)),
        )


@dataclass(frozen=True, slots=True)
class MoveControl:
    """What somebody asked of the process that runs a task: `wanted` is pause, stop, or run (go on).

    `left_behind`, `log_kept_bytes` and `log_limit` are those of the mover's status, for a mover that is to stop.
    """

    task: str
    wanted: str
    job: str
    left_behind: str | None = None
    log_kept_bytes: int | None = None
    log_limit: str | None = None


@dataclass(frozen=True, slots=True)
class DroppedTask:
    """A dropped task: only the tables of its target are left."""

    task: str


@dataclass(frozen=True, slots=True)
class RestartedTable:
    """A table that is to be copied again. `is_running`: by the mover that runs; otherwise by the next one."""

    task: str
    source: str
    target: str
    is_running: bool
