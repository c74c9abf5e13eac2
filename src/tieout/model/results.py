"""The results of a verification, as data. `tieout.verification.judge` makes them, `tieout.report` renders them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from tieout.exit_codes import ExitCode
from tieout.model.differences import Difference, DifferenceCounts


class Verdict(StrEnum):
    EQUAL = "equal"
    DIFFERENT = "different"
    UNVERIFIED = "unverified"


class Strategy(StrEnum):
    AUTO = "auto"
    NATIVE = "native"
    PUSHDOWN = "pushdown"
    PULL = "pull"
    COUNTS = "counts"


@dataclass(frozen=True, slots=True)
class SchemaFinding:
    """Something that is not the same in the two schemas.

    `aspect` is table, column, type, nullability or key. `breaks` says that it alone makes the table
    different (a table or a column on one side only); the others inform.
    """

    aspect: str
    message: str
    column: str | None = None
    breaks: bool = False


@dataclass(frozen=True, slots=True)
class UnverifiedColumn:
    column: str
    reason: str


@dataclass(frozen=True, slots=True)
class RowCounts:
    """Rows read on each side; None: not counted."""

    source: int | None = None
    target: int | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a table is verified, and why: the strategy, the alignment, and a line for each choice."""

    strategy: Strategy
    alignment: str
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableResult:
    """One table of a verification. `source_table` or `target_table` is None if that side lacks it.

    `merged`: `source_table` names several, whose rows are together on the target.
    """

    source_table: str | None
    target_table: str | None
    verdict: Verdict
    reason: str | None = None
    strategy: Strategy | None = None
    rows: RowCounts = RowCounts()
    differences: DifferenceCounts = DifferenceCounts()
    unverified_columns: tuple[UnverifiedColumn, ...] = ()
    schema: tuple[SchemaFinding, ...] = ()
    source_position: str | None = None
    target_position: str | None = None
    collision_bound: str | None = None
    seconds: float = 0.0
    explanation: Explanation | None = None
    notes: tuple[str, ...] = ()
    merged: bool = False

    @property
    def table(self) -> str:
        """The name under which its differences are listed."""
        if self.merged and self.target_table:
            return self.target_table
        return self.source_table or self.target_table or "?"


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """The result of a verification. URLs are redacted. `truncated`: more differences than are listed."""

    verdict: Verdict
    job: str
    source: str
    target: str
    started_at: datetime
    seconds: float
    tables: tuple[TableResult, ...]
    differences: tuple[Difference, ...] = ()
    truncated: bool = False
    counts_only: bool = False
    notes: tuple[str, ...] = field(default=())

    def to_json(self, indent: int | None = 2) -> str:
        from tieout.model.documents import verification_document  # they need each other

        return json.dumps(verification_document(self), indent=indent, ensure_ascii=False)

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of_verdict(self.verdict)
