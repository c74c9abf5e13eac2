"""What is wrong at an address, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tieout.checks.indexes.compare import EntryThere, Mismatch, RowThere, Values
from tieout.connectors.protocols.check import Checker, IndexInfo
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.connectors.protocols.paths import exact_key
from tieout.model.failures import Failure, FailureKind
from tieout.model.tables import Table

AddressText = Callable[[Sequence[str | None]], str]


def entries_hold_key(checker: Checker, table: Table, address: Sequence[ScanColumn]) -> bool:
    """Whether an entry's address is its row's key, written as keys are: then it names a row even if that is gone."""
    kinds = [column.kind for column in exact_key(table)]
    return bool(kinds) and checker.addresses_are_keys(table) and kinds == [column.kind for column in address]


class Classifier:
    """For one index. `key` names the columns that rows are called by. `addresses_are_keys`: so do entries."""

    def __init__(
        self,
        database: str,
        index: IndexInfo,
        key: Sequence[str],
        address_text: AddressText,
        *,
        addresses_are_keys: bool = False,
    ) -> None:
        self._addresses_are_keys = addresses_are_keys
        self._database = database
        self._index = index
        self._key = key
        self._address_text = address_text
        self._names = [column.name for column in index.columns]
        self._included = [column.included for column in index.columns]

    def failures(self, mismatch: Mismatch) -> Iterator[Failure]:
        """One for each entry that is wrong, and one for each row without an entry that could be its."""
        rows, entries = list(mismatch.rows), list(mismatch.entries)
        copies = _take_equal(rows, entries)
        for entry in entries[:]:
            if entry.print in copies and mismatch.address is not None:
                entries.remove(entry)
                yield self._failure(FailureKind.DUPLICATE_INDEX_ENTRY, mismatch, copies[entry.print], entry)
        while rows and entries:
            row, entry = rows.pop(), entries.pop()
            yield self._failure(self._differing(row, entry), mismatch, row, entry)
        for row in rows:
            yield self._failure(FailureKind.MISSING_INDEX_ENTRY, mismatch, row, None)
        for entry in entries:
            yield self._without_row(mismatch, entry)

    def _without_row(self, mismatch: Mismatch, entry: EntryThere) -> Failure:
        if mismatch.rows and mismatch.address is not None:
            return self._failure(FailureKind.WRONG_ROW_REFERENCE, mismatch, mismatch.rows[0], entry)
        if mismatch.excluded:  # a row that a partial index should not have
            return self._failure(FailureKind.STALE_INDEX_ENTRY, mismatch, mismatch.excluded[0], entry)
        return self._failure(FailureKind.DANGLING_INDEX_ENTRY, mismatch, None, entry)

    def _differing(self, row: RowThere, entry: EntryThere) -> FailureKind:
        places = _places(row.values, entry.values)
        only_stored = places and all(self._included[place] for place in places)
        return FailureKind.WRONG_STORED_VALUE if only_stored else FailureKind.STALE_INDEX_ENTRY

    def _failure(
        self, kind: FailureKind, mismatch: Mismatch, row: RowThere | None, entry: EntryThere | None
    ) -> Failure:
        columns: Sequence[str] = self._index.column_names
        if kind in (FailureKind.WRONG_STORED_VALUE, FailureKind.STALE_INDEX_ENTRY) and row and entry:
            columns = [self._names[place] for place in _places(row.values, entry.values)] or columns
        details: dict[str, str | None] = {}
        for what, found in (("row", row), ("entry", entry)):
            if found is not None:
                details |= {f"{what}.{name}": value for name, value in zip(self._names, found.values, strict=True)}
        return Failure(
            kind,
            self._database,
            str(self._index.table.name),
            tuple(columns),
            index=self._index.name,
            primary_key=self._primary_key(mismatch, row),
            place=None if mismatch.address is None else self._address_text(mismatch.address),
            details=details,
        )

    def _primary_key(self, mismatch: Mismatch, row: RowThere | None) -> dict[str, str | None] | None:
        """The row's; without a row, the one that the entry points to, if it holds a key."""
        held = mismatch.address if self._addresses_are_keys else None
        key = held if row is None else row.key
        return dict(zip(self._key, key, strict=True)) if key is not None and self._key else None


def _take_equal(rows: list[RowThere], entries: list[EntryThere]) -> dict[str, RowThere]:
    """Takes away rows and entries that are each other's; those rows, by their fingerprints."""
    taken: dict[str, RowThere] = {}
    for row in rows[:]:
        match = next((entry for entry in entries if entry.print == row.print), None)
        if match is not None:
            rows.remove(row)
            entries.remove(match)
            taken[row.print] = row
    return taken


def _places(a: Values, b: Values) -> list[int]:
    return [place for place, (x, y) in enumerate(zip(a, b, strict=True)) if x != y]
