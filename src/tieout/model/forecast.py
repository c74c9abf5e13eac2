"""What a task would do and what its answer would be worth, known before any row is read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from tieout.model.move_forecast import MoveForecast, TableState
from tieout.model.results import Explanation, SchemaFinding, UnverifiedColumn


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What an "equal" of a table will mean.

    `hash_bits` None: only counts are compared. `rechecks`: rows that differ while the table is written to are
    looked at again. `resumes`: after a crash, finished ranges are not read again (else the table starts over).
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
    """Everything that was looked at before a verification, or a move, or both.

    `tables` are those that would be verified: none if an endpoint was not reached. `move` None: nothing is to be moved,
    or it can't be told.
    """

    source: EndpointFacts
    target: EndpointFacts
    problems: tuple[Problem, ...]
    tables: tuple[TableForecast, ...] = ()
    move: MoveForecast | None = None

    def then(self, verification: Preflight) -> Preflight:
        """This one of a move, with one of what would be verified after it.

        A table that will be made can't be looked at yet, and is no difference.
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
    def exit_code(self) -> int:
        """0: it can run; 2: something prevents it; 3: something will be unverified."""
        severities = {problem.severity for problem in self.problems}
        if Severity.PREVENTS in severities:
            return 2
        return 3 if Severity.UNVERIFIED in severities else 0
