"""The results of a check of one database, as data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from tieout.exit_codes import ExitCode
from tieout.model.check_statements import Family
from tieout.model.constraints import Enforcement


class FailureKind(StrEnum):
    MISSING_INDEX_ENTRY = "missing_index_entry"
    """A row that its index does not have."""
    DANGLING_INDEX_ENTRY = "dangling_index_entry"
    """An entry whose row does not exist."""
    STALE_INDEX_ENTRY = "stale_index_entry"
    """An entry whose row has another key now, and no other entry."""
    WRONG_ROW_REFERENCE = "wrong_row_reference"
    """An entry that points to a row of another key, which has its own entry."""
    WRONG_STORED_VALUE = "wrong_stored_value"
    """An entry whose copy of a column that is not of the key differs from the row's."""
    DUPLICATE_INDEX_ENTRY = "duplicate_index_entry"
    INDEX_ORDER = "index_order"
    PRIMARY_KEY_VIOLATION = "primary_key_violation"
    UNIQUE_VIOLATION = "unique_violation"
    CHECK_VIOLATION = "check_violation"
    NOT_NULL_VIOLATION = "not_null_violation"
    FOREIGN_KEY_VIOLATION = "foreign_key_violation"
    INVALID_INDEX = "invalid_index"
    """An index that the engine itself does not trust, or that was never finished."""
    INVALID_INDEX_DEFINITION = "invalid_index_definition"
    INVALID_VIEW = "invalid_view"
    """A view that can no longer be read, or whose columns differ from its definition."""
    MISSING_REFERENCE = "missing_reference"
    """An object that refers to one that is gone."""
    INVALID_FOREIGN_KEY = "invalid_foreign_key"
    """A foreign key whose parent no longer has the key."""
    SEQUENCE_BEHIND = "sequence_behind"
    """A sequence whose next values already exist in its column."""
    INVALID_DEFAULT = "invalid_default"
    INVALID_GENERATED_COLUMN = "invalid_generated_column"
    """A generated column or default whose expression fails."""
    INVALID_VALUE = "invalid_value"
    """A value that its type does not have."""
    INVALID_ENCODING = "invalid_encoding"
    """Bytes that are not text in the column's character set."""
    VALUE_OUT_OF_RANGE = "value_out_of_range"
    INVALID_JSON = "invalid_json"
    WRONG_GENERATED_VALUE = "wrong_generated_value"
    """A stored value that differs from the result of its expression."""
    ENGINE_FINDING = "engine_finding"
    """What the engine's own checker says, in its own words."""


class Status(StrEnum):
    OK = "ok"
    FAILURES = "failures"
    NOT_CHECKED = "not_checked"


class CheckVerdict(StrEnum):
    CLEAN = "clean"
    FAILURES = "failures"
    UNVERIFIED = "unverified"


@dataclass(frozen=True, slots=True)
class Failure:
    """`primary_key` maps columns to canonical text; None if no row is known. For a dangling entry it is the key that
    the entry points to, if it holds one: no row has it.

    `place` is the row address or page, as the engine writes it. `details` are further values, as canonical text.
    """

    kind: FailureKind
    database: str
    table: str
    columns: tuple[str, ...] = ()
    index: str | None = None
    constraint: str | None = None
    primary_key: Mapping[str, str | None] | None = None
    place: str | None = None
    details: Mapping[str, str | None] = field(default_factory=dict)
    detected_at: datetime | None = None


class FailureState(StrEnum):
    """What somebody decided about a failure."""

    OPEN = "open"
    IGNORED = "ignored"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True)
class KeptFailure:
    """A failure over time: `failure` as a check last saw it. `gone_since`: the check ran again and did not find it."""

    id: str
    job_id: str
    endpoint: str
    failure: Failure
    state: FailureState
    note: str | None
    first_seen: datetime
    last_seen: datetime
    gone_since: datetime | None


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check: of an index, a constraint, a table's schema or its values. `reason` says why it did not run.

    `evidence` proves that the index was read, and says how the table was read. `enforcement` is how far the engine
    itself enforces a constraint. `cut`: the check did not reach everything; what it did not find may be wrong, too.
    """

    family: Family
    table: str
    name: str | None
    status: Status
    reason: str | None = None
    rows: int | None = None
    failures: int = 0
    evidence: str | None = None
    seconds: float = 0.0
    enforcement: Enforcement | None = None
    cut: bool = False


@dataclass(frozen=True, slots=True)
class ChangedSpan:
    """The changes of a table that a check read: those between two positions of its log, and the number of their rows.

    `whole` is why all rows were checked, if they were. `since` None: no position was checked before.
    """

    table: str
    since: str | None
    upto: str
    changes: int = 0
    rows: int = 0
    whole: str | None = None


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The result of one statement. `truncated`: more failures than are listed. `changed`: for CHANGED only."""

    job: str
    endpoint: str
    statement: str
    started_at: datetime
    seconds: float
    checks: tuple[CheckResult, ...]
    failures: tuple[Failure, ...] = ()
    truncated: bool = False
    notes: tuple[str, ...] = ()
    changed: tuple[ChangedSpan, ...] = ()

    @property
    def verdict(self) -> CheckVerdict:
        """A check that did not run is never clean."""
        found = {check.status for check in self.checks}
        if Status.FAILURES in found:
            return CheckVerdict.FAILURES
        return CheckVerdict.CLEAN if found == {Status.OK} else CheckVerdict.UNVERIFIED

    def to_json(self, indent: int | None = 2) -> str:
        from tieout.model.documents import check_document  # they need each other

        return json.dumps(check_document(self), indent=indent, ensure_ascii=False)

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of_verdict(self.verdict)
