"""What is known before a row is read or written: how to verify tables, what a move would promise, all problems."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from tieout.exit_codes import ExitCode
from tieout.model.levels import TargetLevel
from tieout.model.moves import Consistency, Delivery
from tieout.model.results import Explanation, SchemaFinding, UnverifiedColumn


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What an "equal" of a table will mean.

    `hash_bits` None: it compares only counts. `rechecks`: it rechecks rows that differ while others write to the table.
    `resumes`: after a crash it does not read finished ranges again (else the table starts over).
    """

    hash_bits: int | None
    collision: str
    rechecks: bool
    resumes: bool


@dataclass(frozen=True, slots=True)
class TableForecast:
    """How one table would be verified; `problem` says why it would not. A side that lacks the table is None."""

    source_table: str | None
    target_table: str | None
    explanation: Explanation | None = None
    guarantee: Guarantee | None = None
    problem: str | None = None
    key: tuple[str, ...] = ()
    unverified_columns: tuple[UnverifiedColumn, ...] = ()
    schema: tuple[SchemaFinding, ...] = ()


@dataclass(frozen=True, slots=True)
class Forecast:
    """All tables of a request. URLs are redacted."""

    source: str
    target: str
    tables: tuple[TableForecast, ...]


class Severity(StrEnum):
    PREVENTS = "prevents"
    """It can't run at all."""
    UNVERIFIED = "unverified"
    """It runs, and this part will not be verified."""
    DIFFERENT = "different"
    """It runs, and will say "different" for this reason alone."""
    NOTE = "note"
    """Good to know."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem and its fix. `side` is source, target, or None for both."""

    severity: Severity
    message: str
    fix: str | None = None
    side: str | None = None
    table: str | None = None


@dataclass(frozen=True, slots=True)
class EndpointFacts:
    """An endpoint by its redacted URL; `version` None: it was not reached."""

    url: str
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Preflight:
    """The preflight of a verification, or a move, or both.

    `tables` are those to verify: none if an endpoint was not reached. `move` None: there is no move, or it is unknown.
    """

    source: EndpointFacts
    target: EndpointFacts
    problems: tuple[Problem, ...]
    tables: tuple[TableForecast, ...] = ()
    move: MoveForecast | None = None

    def then(self, verification: Preflight) -> Preflight:
        """This preflight of a move, with that of the verification after it.

        A table that the move will create can't be examined yet, and is not a difference.
        """
        moved = self.move.tables if self.move else ()
        made = {table.source_table for table in moved if table.state is TableState.MISSING}
        rest = [
            problem
            for problem in verification.problems
            if problem not in self.problems and not (problem.severity is Severity.DIFFERENT and problem.table in made)
        ]
        tables = tuple(table for table in verification.tables if table.source_table not in made)
        return replace(self, problems=(*self.problems, *rest), tables=tables)

    @property
    def exit_code(self) -> ExitCode:
        """FAILED: something prevents it; INCOMPLETE: something will be unverified."""
        severities = {problem.severity for problem in self.problems}
        return ExitCode.of_work(failed=Severity.PREVENTS in severities, incomplete=Severity.UNVERIFIED in severities)


class TableState(StrEnum):
    """What a target has of a table."""

    MISSING = "missing"
    """Tieout will create it."""
    THERE = "there"
    """It exists and is empty."""
    BEGUN = "begun"
    """It holds rows of this task."""


@dataclass(frozen=True, slots=True)
class MoveTableForecast:
    """How one table would be moved. `target_levels` are those that it can have, `target_level` the one that it gets.

    `promise` says in words what is guaranteed when a mover is killed, and what a reader of the target sees.
    """

    source_table: str
    target_table: str
    state: TableState
    key: tuple[str, ...]
    target_levels: tuple[TargetLevel, ...]
    target_level: TargetLevel
    promise: str


@dataclass(frozen=True, slots=True)
class MoveForecast:
    """A task's move: what was chosen and why (`reasons`), and what the pair could give.

    `log_limit` says what ends the log that the task needs; `log_kept_bytes` is how much of it the source keeps for the
    task already, None if it keeps nothing for it.
    """

    delivery: Delivery
    deliveries: tuple[Delivery, ...]
    consistency: Consistency
    consistencies: tuple[Consistency, ...]
    source_levels: tuple[Consistency, ...]
    tables: tuple[MoveTableForecast, ...]
    log_limit: str = ""
    log_kept_bytes: int | None = None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Retention:
    """What a task has at its source, and what ends the log there.

    `left`: what stays there while no mover runs, in words; None: nothing. `kept`: bytes of log that the source keeps
    for this task; None: it keeps none for it in particular. `limit` says in words what limits the log. `seconds`: how
    long the source keeps it, read or unread; None: time does not limit it. `warning`: what may go wrong.
    """

    left: str | None
    kept: int | None
    limit: str
    seconds: float | None = None
    warning: Problem | None = None

    def warning_words(self, unread_seconds: float) -> str | None:
        """What may go wrong, and what to do, if the log was last read to its end `unread_seconds` ago."""
        if self.seconds is not None and unread_seconds > self.seconds / 2:
            hours = f"{unread_seconds / 3600:.1f} hours"
            return f"{self.limit}, and no mover has read all of it for {hours}: run one before the log is gone"
        if self.warning is None:
            return None
        return f"{self.warning.message} ({self.warning.fix})" if self.warning.fix else self.warning.message
