"""Work of executors for CHECK … CHANGED: looks up changed rows and their entries, and compares them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import pyarrow as pa

from tieout.canonical.decode import decode
from tieout.canonical.fields import Field
from tieout.canonical.fingerprint import fingerprints
from tieout.checks.indexes.compare import EntryThere, Mismatch, RowThere, Values
from tieout.checks.indexes.projection import TableColumns
from tieout.connectors.protocols.check import ChangedRow, Literals, Lookup
from tieout.connectors.protocols.endpoint import ScanColumn
from tieout.errors import TieoutError
from tieout.model.truncated import LONGEST_IN_FAILURE

T = TypeVar("T")

_MOST_ROUNDS = 3
"""An old entry that leads to another row makes us read that row and its entries. That ends the search, if nobody
writes.
"""


@dataclass(frozen=True)
class Looked:
    """The rows and the entries of each index that were read. `absent` are keys that should exist and were not found.

    `errors` kept an index, by its number, from being read.
    """

    rows: int
    entries: tuple[int, ...]
    mismatches: tuple[Mismatch, ...]
    absent: tuple[Literals, ...] = ()
    errors: dict[int, TieoutError] = field(default_factory=dict)


@dataclass(frozen=True)
class LookUp:
    """Looks up some rows for all indexes. `unaided`: by a scan of the whole table, not through an index."""

    lookup: Lookup
    read: TableColumns
    rows: tuple[ChangedRow, ...]
    unaided: bool = False

    def run(self) -> Iterator[Looked]:
        yield _Look(self.lookup, self.read).run(self.rows, unaided=self.unaided)


@dataclass
class _At:
    """The rows and entries at one address of one index."""

    rows: dict[str, RowThere] = field(default_factory=dict)
    excluded: dict[str, RowThere] = field(default_factory=dict)
    entries: dict[str, EntryThere] = field(default_factory=dict)

    @property
    def agrees(self) -> bool:
        return self.rows.keys() == self.entries.keys()


class _Look:
    def __init__(self, lookup: Lookup, read: TableColumns) -> None:
        self._lookup = lookup
        self._read = read
        self._seen: set[Values] = set()
        self._found: list[dict[Values, _At]] = [{} for _ in read.projections]
        self._entries = [0] * len(read.projections)
        self._errors: dict[int, TieoutError] = {}

    def run(self, rows: Sequence[ChangedRow], *, unaided: bool) -> Looked:
        read = self._lookup.all_rows if unaided else self._lookup.rows
        expected, others = [r.key for r in rows if r.there], [r.key for r in rows if not r.there]
        hints = self._note(read(expected)) if expected else []
        missed = len(expected) - len(self._seen) if self._lookup.keyed_by_index and not unaided else 0
        hints += self._note(read(others)) if others else []
        self._note_entries(rows, hints)
        for _ in range(_MOST_ROUNDS):
            led_to = {place for at in self._found for place in at} - self._seen
            if not led_to or not self._lookup.keyed_by_index:
                break
            self._seen |= led_to
            self._note_entries((), self._note(self._lookup.rows_at([place[0] or "" for place in led_to])))
        absent = self._absent(expected) if missed > 0 else ()
        return Looked(self._rows, tuple(self._entries), tuple(self._mismatches()), absent, self._errors)

    @property
    def _rows(self) -> int:
        places = {place for at in self._found for place, there in at.items() if there.rows or there.excluded}
        return len(places)

    def _absent(self, keys: Sequence[Literals]) -> tuple[Literals, ...]:
        return tuple(key for key in keys if not any(batch.num_rows for batch in self._lookup.rows([key])))

    def _note(self, batches: Iterable[pa.RecordBatch]) -> list[str]:
        """Notes the rows, and returns what the engine needs to find their entries."""
        wide = len(self._lookup.address)
        hints: list[str] = []
        for batch in batches:
            address = _fields(self._lookup.address, batch.columns[:wide])
            fields = _fields(self._lookup.columns, batch.columns[wide : wide + len(self._lookup.columns)])
            hints += batch.columns[wide + len(self._lookup.columns)].to_pylist()
            places = [_texts(address, row) for row in range(batch.num_rows)]
            self._seen |= set(places)
            keys = [_texts([fields[place] for place in self._read.key], row) for row in range(batch.num_rows)]
            for at, projection in zip(self._found, self._read.projections, strict=True):
                own = [fields[place] for place in projection.columns]
                prints, held = fingerprints([*address, *own]), projection.holds(fields)
                for row, place in enumerate(places):
                    there = RowThere(prints[row].tobytes().hex(), _texts(own, row), keys[row])
                    here = at.setdefault(place, _At())
                    (here.rows if held[row] else here.excluded)[there.print] = there
        return hints

    def _note_entries(self, rows: Sequence[ChangedRow], hints: Sequence[str]) -> None:
        for number in range(len(self._found)):
            try:
                for found in self._lookup.entries(number, rows, hints) if number not in self._errors else ():
                    self._entries[number] += found.read
                    self._note_found(number, found.batch)
            except TieoutError as error:
                if error.transient:
                    raise
                self._errors[number] = error

    def _note_found(self, number: int, batch: pa.RecordBatch) -> None:
        wide = len(self._lookup.address)
        address = _fields(self._lookup.address, batch.columns[:wide])
        columns = [self._lookup.columns[place] for place in self._read.projections[number].columns]
        values = _fields(columns, batch.columns[wide:])
        prints = fingerprints([*address, *values])
        for row in range(batch.num_rows):
            entry = EntryThere(prints[row].tobytes().hex(), _texts(values, row))
            self._found[number].setdefault(_texts(address, row), _At()).entries[entry.print] = entry

    def _mismatches(self) -> Iterator[Mismatch]:
        for number, found in enumerate(self._found):
            for place, at in found.items():
                if number not in self._errors and not at.agrees:
                    yield Mismatch(number, place, _sorted(at.rows), _sorted(at.excluded), _sorted(at.entries))


def _sorted(found: Mapping[str, T]) -> tuple[T, ...]:
    return tuple(found[name] for name in sorted(found))


def _fields(columns: Sequence[ScanColumn], arrays: Sequence[pa.Array]) -> list[Field]:
    return [decode(column.kind, array) for column, array in zip(columns, arrays, strict=True)]


def _texts(fields: Sequence[Field], row: int) -> Values:
    """The values as failures hold them: long ones truncated. Fingerprints are what is compared."""
    return tuple(field.kept(row, LONGEST_IN_FAILURE) for field in fields)
