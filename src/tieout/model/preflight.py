"""What is known before anything is touched: how tables would be verified, what a move would promise, every problem."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from tieout.exit_codes import ExitCode
from tieout.model.moves import Consistency, Delivery
from tieout.model.results import Explanation, SchemaFinding, UnverifiedColumn


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What an "equal" of a table will mean.

    `hash_bits` None: only counts are compared. `rechecks`: rows that differ while the table is written to are
    rechecked. `resumes`: after a crash, finished ranges are not read again (else the table starts over).
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
    """Something that stands in the way, and what to do about it. `side` is source, target, or None for both."""

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
    """The result of a preflight of a verification, a move, or both.

    `tables` are those that would be verified: none if an endpoint was not reached. `move` None: the task has no move,
    or what it would promise is unknown.
    """

    source: EndpointFacts
    target: EndpointFacts
    problems: tuple[Problem, ...]
    tables: tuple[TableForecast, ...] = ()
    move: MoveForecast | None = None

    def then(self, verification: Preflight) -> Preflight:
        """Combines the preflight of a move with that of the verification after it.

        A table that the move will create does not exist yet; that is not a difference.
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


class TargetLevel(StrEnum):
    """What a target makes of changes that come to it, from the least to the most."""

    PRIMITIVE = "primitive"
    """Whatever comes is written: what comes twice is there twice."""
    UNIQUE_KEY = "unique-key"
    """What comes twice changes nothing: rows are found by their key."""
    LOGICAL_CLOCK = "logical-clock"
    """What was applied is known by its position, and not applied again: without a key, too."""
    TRANSACTION = "transaction"
    """And no part of a source's transaction is ever seen."""


class TableState(StrEnum):
    """What a target has of a table."""

    MISSING = "missing"
    """It will be made."""
    THERE = "there"
    """It was made by somebody, and is empty."""
    BEGUN = "begun"
    """It holds rows of this task."""


@dataclass(frozen=True, slots=True)
class MoveTableForecast:
    """How one table would be moved. `target_levels` are those that it can have, `target_level` the one that it gets.

    `promise` says in words what holds when a mover is killed.
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
    """A task's move: what was chosen, and what the pair could give.

    `log_limit` says what ends the log that the task needs; `log_kept_bytes` is how much of it the source keeps for the
    task already, None if it keeps nothing for it.
    """

    delivery: Delivery
    deliveries: tuple[Delivery, ...]
    consistency: Consistency
    source_levels: tuple[Consistency, ...]
    tables: tuple[MoveTableForecast, ...]
    log_limit: str = ""
    log_kept_bytes: int | None = None


def levels_upto(most: TargetLevel, *, keyed: bool) -> tuple[TargetLevel, ...]:
    """What a table can have on a target that can do so much. Without a key, rows can't be found by it."""
    order = list(TargetLevel)
    found = order[: order.index(most) + 1]
    return tuple(level for level in found if keyed or level is not TargetLevel.UNIQUE_KEY)


def consistencies_upto(most: Consistency) -> tuple[Consistency, ...]:
    order = list(Consistency)
    return tuple(order[: order.index(most) + 1])


def deliveries_of(most: TargetLevel) -> tuple[Delivery, ...]:
    """What is not known to have been applied can't be left out, so that only one of two kills does no harm."""
    if most in (TargetLevel.LOGICAL_CLOCK, TargetLevel.TRANSACTION):
        return tuple(Delivery)
    return (Delivery.AT_LEAST_ONCE,)


def level_of(delivery: Delivery, *, keyed: bool) -> TargetLevel:
    """What a delivery makes of a table."""
    if delivery is Delivery.AT_LEAST_ONCE:
        return TargetLevel.UNIQUE_KEY if keyed else TargetLevel.PRIMITIVE
    return TargetLevel.TRANSACTION if delivery is Delivery.EXACTLY_ONCE else TargetLevel.LOGICAL_CLOCK


def promise_of(delivery: Delivery, *, keyed: bool) -> str:
    if delivery is Delivery.EXACTLY_ONCE:
        return "nothing is lost, nothing is there twice"
    if delivery is Delivery.AT_MOST_ONCE:
        return "nothing is there twice; killed, the last batch may be lost"
    if keyed:
        return "nothing is lost; what is applied twice changes nothing"
    return "nothing is lost; killed, the last batch may be there twice"


@dataclass(frozen=True, slots=True)
class Retention:
    """What a task has at its source, and what ends the log there.

    `left`: what stays there while no mover runs, in words; None: nothing. `kept`: bytes of log that the source keeps
    for this task; None: it keeps none for it in particular. `limit` says in words what ends it. `seconds`: how long
    the log is there, whoever still has to read it; None: time does not end it. `warning`: what may go wrong.
    """

    left: str | None
    kept: int | None
    limit: str
    seconds: float | None = None
    warning: Problem | None = None

    def warning_words(self, unread_seconds: float) -> str | None:
        """What may go wrong, and what to do, when the log was last read up to its end so long ago."""
        if self.seconds is not None and unread_seconds > self.seconds / 2:
            hours = f"{unread_seconds / 3600:.1f} hours"
            return f"{self.limit}, and no mover has read all of it for {hours}: run one before the log is gone"
        if self.warning is None:
            return None
        return f"{self.warning.message} ({self.warning.fix})" if self.warning.fix else self.warning.message
