"""Checks the indexes of rows that changed: looks up each row by key and compares its entries with what they should be.

Failures that were found before are rechecked by key where that is possible; the others need a complete check.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import SparkSession

from tieout.checks.changed.lookups import Looked, LookUp
from tieout.checks.changed.which_rows import ChangedTable, unknown_before
from tieout.checks.checked import Checked, not_checked
from tieout.checks.indexes.checks import by_address
from tieout.checks.indexes.classify import Classifier, entries_hold_key
from tieout.checks.indexes.compare import AT_NO_MOMENT, Mismatch, Place, Places
from tieout.checks.indexes.projection import TableColumns, table_columns
from tieout.checks.options import CheckOptions
from tieout.checks.planner import PlannedTable
from tieout.connectors.protocols.check import ChangedRow, Checker, IndexInfo, Literals, Lookup
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.connectors.protocols.paths import NotCheckable, exact_key
from tieout.errors import TieoutError
from tieout.model.canonical_kinds import Kind, common_kind
from tieout.model.check_statements import Family
from tieout.model.failures import CheckResult, Failure, FailureKind, Status
from tieout.model.redaction import is_hidden
from tieout.model.tables import Table
from tieout.model.truncated import is_whole
from tieout.runtime.dispatch import run_dealt
from tieout.runtime.recheck import RecheckPolicy, recheck
from tieout.wording import plural

_ENTRY = "entry."
_LOOKABLE = {
    FailureKind.MISSING_INDEX_ENTRY,
    FailureKind.DANGLING_INDEX_ENTRY,
    FailureKind.STALE_INDEX_ENTRY,
    FailureKind.WRONG_ROW_REFERENCE,
}
"""Not the order of entries, and not duplicates: looking up a row shows neither."""


def lookable(
    checker: Checker, table: Table, indexes: Sequence[IndexInfo], known: Sequence[Sequence[Failure]]
) -> tuple[list[list[Failure]], list[ChangedRow]]:
    """For each index, the failures that can't be rechecked by key; and the rows of the others."""
    kept: list[list[Failure]] = [[] for _ in indexes]
    rows: list[ChangedRow] = []
    for number, (index, failures) in enumerate(zip(indexes, known, strict=True)):
        for failure in failures:
            row = _row(checker, table, index, failure)
            if row is None:
                kept[number].append(failure)
            else:
                rows.append(row)
    return kept, rows


def _row(checker: Checker, table: Table, index: IndexInfo, failure: Failure) -> ChangedRow | None:
    if not is_whole({**(failure.primary_key or {}), **failure.details}):
        return None  # a truncated value does not find a row
    texts = _key(checker, table, failure) if failure.kind in _LOOKABLE else None
    if texts is None:
        return None
    key = [checker.literal_of(_column(table, name), text) for name, text in zip(table.key, texts, strict=True)]
    entry = {name: text for name, text in failure.details.items() if name.startswith(_ENTRY)}
    if any(map(is_hidden, entry.values())):
        return None  # redaction has hidden what the entry was
    image: dict[str, str] = {}
    for column in index.columns if entry else ():
        value = checker.literal_of(column.read, entry.get(_ENTRY + column.name))
        if value is None:
            return None
        image[column.name] = value
    literals: Literals = tuple(part for part in key if part is not None)
    # The row exists unless the log says that it was deleted. A dangling entry has the key of a deleted row.
    there = failure.primary_key is not None and failure.kind is not FailureKind.DANGLING_INDEX_ENTRY
    return ChangedRow(literals, (image,) if image else (), there) if len(literals) == len(key) else None


def _key(checker: Checker, table: Table, failure: Failure) -> list[str | None] | None:
    """The key of the failure's row; without one, the address of the entry, if addresses are keys."""
    if failure.primary_key is not None:
        return [failure.primary_key.get(name) for name in table.key]
    if failure.place is None or not checker.addresses_are_keys(table):
        return None
    parts: list[str | None] = [*failure.place.split(", ")]
    return parts if len(parts) == len(table.key) else None


def _column(table: Table, name: str) -> ScanColumn:
    column = table.column(name)
    kind = common_kind(column.type, column.type)
    assert isinstance(kind, Kind), f"{name} has been read before"
    return ScanColumn(column, kind)


_PIECE = 200
"""Rows that one statement looks up."""


Known = Callable[[Family, str, str | None], Sequence[Failure]]
"""Returns the failures of a check (its family, table and name) that were found before and are not known to be gone."""


@dataclass
class ChangedChecks:
    """`rest` waits, or raises to stop the job. `gone` returns the keys of deleted rows."""

    spark: SparkSession
    checker: Checker
    options: CheckOptions
    rest: Callable[[float], None]
    known: Known
    gone: Callable[[Table], set[Literals]]

    def run(self, planned: PlannedTable, changed: ChangedTable) -> Iterator[Checked]:
        table, readable = planned.table, []
        if planned.unlisted is not None:
            yield not_checked(Family.INDEX, table, None, planned.unlisted)
        for index in planned.indexes:
            reason = index.unchecked or self.checker.no_lookup_reason(index)
            if reason is not None:
                yield not_checked(Family.INDEX, table, index.name, reason)
            else:
                readable.append(index)
        if not readable:
            return
        read = table_columns(readable, exact_key(table))
        lookup = self.checker.lookup(table, read.columns, readable)
        if not table.key or isinstance(lookup, NotCheckable):
            no_key = "the table has no key to look up rows by: CHECK TABLE without CHANGED checks all of it"
            for index in readable:
                yield not_checked(
                    Family.INDEX, table, index.name, lookup.reason if isinstance(lookup, NotCheckable) else no_key
                )
            return
        yield from self._looked_up(planned, readable, changed, lookup, read)

    def _looked_up(
        self,
        planned: PlannedTable,
        indexes: Sequence[IndexInfo],
        changed: ChangedTable,
        lookup: Lookup,
        read: TableColumns,
    ) -> Iterator[Checked]:
        started = time.monotonic()
        before = [self.known(Family.INDEX, str(planned.table.name), index.name) for index in indexes]
        kept, suspects = lookable(self.checker, planned.table, indexes, before)
        rows = changed.rows()
        looking = _Looking(self, lookup, read, [*rows, *suspects], planned.table)
        compared = looking.run()
        seconds = time.monotonic() - started
        names = [column.name for column in exact_key(planned.table)]
        by_key = bool(compared.mismatches) and entries_hold_key(self.checker, planned.table, lookup.address)
        for number, index in enumerate(indexes):
            classifier = Classifier(
                self.checker.database, index, names, self.checker.address_text, addresses_are_keys=by_key
            )
            found = [f for m in sorted(compared.of(number), key=by_address) for f in classifier.failures(m)]
            # A failure that could not be rechecked stays a failure.
            is_open = number in compared.errors or number in compared.unstable
            failures = distinct([*found, *(before[number] if is_open else kept[number])])
            reasons = list(_unknown(index, rows, lookup.old_values_hint))
            evidence = _evidence(compared, number, lookup)
            yield _checked(index, compared, number, failures, reasons, (evidence, seconds))


@dataclass
class Compared:
    """The outcome of all indexes of a table, by the number of the index."""

    rows: int = 0
    entries: dict[int, int] = field(default_factory=dict)
    mismatches: tuple[Mismatch, ...] = ()
    unstable: dict[int, int] = field(default_factory=dict)
    errors: dict[int, TieoutError] = field(default_factory=dict)

    def of(self, number: int) -> list[Mismatch]:
        return [mismatch for mismatch in self.mismatches if mismatch.index == number]


class _Looking:
    """Looks up rows of a table piece by piece, and rechecks where something seems wrong."""

    def __init__(
        self, checks: ChangedChecks, lookup: Lookup, read: TableColumns, rows: Sequence[ChangedRow], table: Table
    ) -> None:
        self._checks = checks
        self._lookup = lookup
        self._read = read
        self._table = table
        merged = _merged(rows)
        self._pieces = [
            LookUp(lookup, read, tuple(merged[start : start + _PIECE])) for start in range(0, len(merged), _PIECE)
        ]
        self._compared = Compared()

    def run(self) -> Compared:
        looked = self._look(self._pieces)
        pieces = {number for number, each in enumerate(looked) if each.mismatches}
        suspects = _places(looked)
        absent = {key for each in looked for key in each.absent}
        if absent and self._add_unaided(absent, suspects):
            pieces.add(len(self._pieces) - 1)
        options = self._checks.options

        def again(_: Mapping[Place, Mismatch]) -> Places:
            return _places(self._look([self._pieces[number] for number in sorted(pieces)]))

        # On every engine, a row and its entries are read one after the other: not at one moment.
        policy = RecheckPolicy(options.recheck_after, options.recheck_times, AT_NO_MOMENT, same_value=True)
        rechecked = recheck(suspects, again, policy, self._checks.rest)
        self._compared.mismatches = tuple(rechecked.certain.values())
        for number, _ in rechecked.unstable:
            self._compared.unstable[number] = self._compared.unstable.get(number, 0) + 1
        return self._compared

    def _add_unaided(self, absent: set[Literals], suspects: Places) -> bool:
        """Adds rows that should exist and that no index leads to: they were deleted since, or the index is wrong."""
        absent -= self._checks.gone(self._table)
        if not absent:
            return False
        rows = [row for piece in self._pieces for row in piece.rows if row.key in absent]
        piece = LookUp(self._lookup, self._read, tuple(rows), unaided=True)
        (looked,) = self._look([piece])
        self._compared.rows += self._table.estimated_rows or 0
        if looked.mismatches:
            self._pieces.append(piece)
            suspects.update(_places([looked]))
        return bool(looked.mismatches)

    def _look(self, pieces: Sequence[LookUp]) -> list[Looked]:
        looked: list[Looked] = [outcome.only() for outcome in run_dealt(self._checks.spark, pieces)]
        for each in looked:
            self._compared.rows += each.rows
            for number, entries in enumerate(each.entries):
                self._compared.entries[number] = self._compared.entries.get(number, 0) + entries
            self._compared.errors.update(each.errors)
        return looked


def _merged(rows: Sequence[ChangedRow]) -> list[ChangedRow]:
    """Each key once, with all earlier values of its row."""
    found: dict[Literals, ChangedRow] = {}
    for row in rows:
        other = found.get(row.key)
        found[row.key] = row if other is None else replace(other, before=(*other.before, *row.before))
    return list(found.values())


def _places(looked: Sequence[Looked]) -> Places:
    return {mismatch.place: mismatch for each in looked for mismatch in each.mismatches}


def distinct(failures: Sequence[Failure]) -> tuple[Failure, ...]:
    """Leaves out failures that are about the same row and entry as an earlier one."""
    found: dict[str, Failure] = {}
    for failure in failures:
        # A dangling entry that an earlier version of Tieout stored has no key.
        by_place = failure.primary_key is None or failure.kind is FailureKind.DANGLING_INDEX_ENTRY
        where = failure.place if by_place else dict(failure.primary_key or {})
        entry = {name: value for name, value in failure.details.items() if name.startswith("entry.")}
        found.setdefault(repr((failure.kind, where, entry)), failure)
    return tuple(found.values())


def _checked(
    index: IndexInfo,
    compared: Compared,
    number: int,
    failures: tuple[Failure, ...],
    reasons: list[str],
    how: tuple[str, float],
) -> Checked:
    """`how` is the evidence and the seconds it took."""
    table = index.table
    error = compared.errors.get(number)
    if error is not None:
        reasons.append(str(error))
    if compared.unstable.get(number):
        suspects = plural(compared.unstable[number], "failure")
        reasons.append(f"{suspects} changed on every recheck (the table is busy)")
    status = Status.FAILURES if failures else Status.NOT_CHECKED if reasons else Status.OK
    result = CheckResult(
        Family.INDEX,
        str(table.name),
        index.name,
        status,
        "; ".join(reasons) or None,
        compared.rows + compared.entries.get(number, 0),
        len(failures),
        *how,
        cut=bool(reasons),
    )
    return Checked(result, failures)


def _evidence(compared: Compared, number: int, lookup: Lookup) -> str:
    """What was read, and what only a complete check would find."""
    unseen = "entries in the wrong order and duplicate entries"
    if not lookup.sees_dangling:
        unseen = f"dangling entries, {unseen}"
    entries = compared.entries.get(number, 0)
    looked_up = f"{plural(compared.rows, 'row')} looked up by key, {entries:,} entries by their values"
    return f"{looked_up}; only a complete check finds {unseen}"


def _unknown(index: IndexInfo, rows: Sequence[ChangedRow], advice: str) -> Iterator[str]:
    count = unknown_before(index, rows)
    if not count:
        return
    if any(column.read.expression is not None for column in index.columns):
        advice = f"CHECK TABLE … INDEX {index.name} checks all of it"
    rows_before = f"the earlier values of {plural(count, 'row')} in this index are unknown"
    yield f"{rows_before}: entries that they left behind were not searched for ({advice})"
