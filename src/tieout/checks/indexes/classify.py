"""Classifies what is wrong at an address of an index: missing, stale, dangling, duplicate, of the wrong row.

Rows and entries that were compared without addresses are multisets: an entry with another key is one entry too many for
that key and one too few for its row. `followed` finds the row that each entry leads to, which shows what it is: stale,
of the wrong row, or dangling.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from tieout.canonical.decode import decode
from tieout.checks.indexes.compare import EntryThere, Mismatch, RowThere, Values
from tieout.checks.indexes.projection import Projection, TableColumns
from tieout.connectors.protocols.check import Checker, IndexInfo
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.connectors.protocols.paths import FollowsEntries, exact_key
from tieout.connectors.sql.connection_cache import kept_open
from tieout.model.failures import Failure, FailureKind
from tieout.model.tables import Table
from tieout.model.truncated import LONGEST_IN_FAILURE, TruncatedText

AddressText = Callable[[Sequence[str | None]], str]


def entries_hold_key(checker: Checker, table: Table, address: Sequence[ScanColumn]) -> bool:
    """Whether an entry's address is its row's key in the same form: then it identifies a row even if that is
    deleted.
    """
    kinds = [column.kind for column in exact_key(table)]
    return bool(kinds) and checker.addresses_are_keys(table) and kinds == [column.kind for column in address]


class Classifier:
    """For one index. `key` are the columns that identify a row. `addresses_are_keys`: entries hold them too."""

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
        """One failure for each wrong entry, and one for each row without an entry."""
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
        """The row's key; without a row, the key in the entry, if it holds one."""
        held = mismatch.address if self._addresses_are_keys else None
        key = held if row is None else row.key
        return dict(zip(self._key, key, strict=True)) if key is not None and self._key else None


def _take_equal(rows: list[RowThere], entries: list[EntryThere]) -> dict[str, RowThere]:
    """Removes rows and entries that match, and returns those rows by their fingerprints."""
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


MOST = 1_000
"""Keys to follow, one by one: if more are wrong, the index must be rebuilt anyway."""


@dataclass(frozen=True, slots=True)
class Led:
    """A row that an entry leads to. `held`: a partial index should have it."""

    address: str
    row: RowThere
    held: bool


def followed(
    path: FollowsEntries, index: IndexInfo, table: TableColumns, projection: Projection, found: Sequence[Mismatch]
) -> list[Mismatch]:
    """The same disagreements at the addresses of the rows that entries lead to, where the engine can tell."""
    with kept_open():
        return list(_Following(path, index, table, projection, found).mismatches())


class _Following:
    def __init__(
        self,
        path: FollowsEntries,
        index: IndexInfo,
        table: TableColumns,
        projection: Projection,
        found: Sequence[Mismatch],
    ) -> None:
        self._path = path
        self._table = table
        self._projection = projection
        self._keys = [place for place, column in enumerate(index.columns) if not column.included]
        self._stores = len(self._keys) < len(index.columns)
        self._found = {_values(mismatch): mismatch for mismatch in found[:MOST]}
        self._rest = found[MOST:]
        self._known: dict[Values, list[Led] | None] = {}
        self._explained: Counter[tuple[Values, Values]] = Counter()

    def mismatches(self) -> Iterator[Mismatch]:
        for mismatch in self._found.values():
            if len(mismatch.entries) > len(mismatch.rows):
                yield from self._surplus(mismatch)
        for mismatch in self._found.values():
            if len(mismatch.rows) > len(mismatch.entries):
                yield from self._lacking(mismatch)
        yield from self._rest

    def _surplus(self, mismatch: Mismatch) -> Iterator[Mismatch]:
        """For a key with more entries than rows: the entries that lead to other rows, and those that dangle."""
        values = _values(mismatch)
        led = self._led(values)
        own = [each for each in led or () if each.row.values == values and each.held]
        others = [each for each in led or () if self._is_other(each, values)]
        gone = len(mismatch.entries) - len(own) - len(others)
        if led is None or gone < 0:
            yield mismatch
            return
        for each in others:
            has_own = each.held and self._key(each.row.values) != self._key(values) and self._is_reached(each)
            entries = (_entry(values), *([_entry(each.row.values)] if has_own else []))
            row, excluded = ((each.row,), ()) if each.held else ((), (each.row,))
            yield Mismatch(mismatch.index, (each.address,), row, excluded, entries)
            if each.held and not has_own:
                self._explained[each.row.values, each.row.key] += 1
        if gone:
            yield Mismatch(mismatch.index, None, (), (), (_entry(values),) * gone)

    def _is_other(self, each: Led, values: Values) -> bool:
        """Whether an entry with these values leads there, and the row has other values."""
        if not each.held or self._key(each.row.values) != self._key(values):
            return True
        # The key leads to all of its rows. Where only stored values differ, the row without an entry shows which it is.
        there = self._found.get(each.row.values)
        lacks = there is not None and not there.entries and any(row.key == each.row.key for row in there.rows)
        return each.row.values != values and lacks

    def _lacking(self, mismatch: Mismatch) -> Iterator[Mismatch]:
        """For a key with more rows than entries: the rows that no entry leads to."""
        values = _values(mismatch)
        led = self._led(values)
        if mismatch.entries and (led is None or self._stores):
            yield mismatch
            return
        by_entries = () if self._stores or not mismatch.entries else led or ()
        reached = Counter(each.row.key for each in by_entries if each.row.values == values)
        missing = []
        for row in mismatch.rows:
            if reached[row.key]:
                reached[row.key] -= 1
            elif self._explained[values, row.key]:
                self._explained[values, row.key] -= 1
            else:
                missing.append(row)
        if missing:
            yield Mismatch(mismatch.index, None, tuple(missing), (), ())

    def _is_reached(self, each: Led) -> bool:
        return any(other.address == each.address for other in self._led(each.row.values) or ())

    def _key(self, values: Values) -> Values:
        return tuple(values[place] for place in self._keys)

    def _led(self, values: Values) -> list[Led] | None:
        if values not in self._known:
            whole = not any(isinstance(value, TruncatedText) for value in values)
            rows = self._path.follow(values, self._table.columns) if whole else None
            self._known[values] = None if rows is None else list(self._decoded(rows))
        return self._known[values]

    def _decoded(self, rows: pa.Table) -> Iterator[Led]:
        fields = [decode(column.kind, rows.column(place + 1)) for place, column in enumerate(self._table.columns)]
        held = self._projection.holds(fields)
        for place, address in enumerate(rows.column(0).to_pylist()):
            values = tuple(fields[each].kept(place, LONGEST_IN_FAILURE) for each in self._projection.columns)
            key = tuple(fields[each].kept(place, LONGEST_IN_FAILURE) for each in self._table.key)
            yield Led(str(address), RowThere(_print(values), values, key), bool(held[place]))


def _values(mismatch: Mismatch) -> Values:
    return mismatch.rows[0].values if mismatch.rows else mismatch.entries[0].values


def _entry(values: Values) -> EntryThere:
    return EntryThere(_print(values), values)


def _print(values: Values) -> str:
    return json.dumps(values)
