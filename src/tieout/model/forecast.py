"""What a verification would do and what its answer would be worth, known before any row is read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

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
    """A verification can't run at all."""
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
    """Everything that was looked at before a verification. `tables` is empty if an endpoint was not reached."""

    source: EndpointFacts
    target: EndpointFacts
    problems: tuple[Problem, ...]
    tables: tuple[TableForecast, ...] = ()

    @property
    def exit_code(self) -> int:
        """0: it can run; 2: something prevents it; 3: something will be unverified."""
        severities = {problem.severity for problem in self.problems}
        if Severity.PREVENTS in severities:
            return 2
        return 3 if Severity.UNVERIFIED in severities else 0
