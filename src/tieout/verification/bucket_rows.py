"""The rows of buckets that differ: executors read them on both sides, Spark brings them together, and executors
compare.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, groupby
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from tieout.canonical.bucket_digests import buckets_of
from tieout.canonical.fields import Field, kept_text
from tieout.canonical.fingerprint import fingerprints
from tieout.canonical.numbers import within
from tieout.connectors.protocols.endpoint import NeedsCautiousReader, Scan
from tieout.errors import TieoutError
from tieout.model.differences import Difference, DifferenceKind, ValuePair
from tieout.model.keys import Key, KeyRange
from tieout.model.truncated import LONGEST_KEPT, longest_of
from tieout.spark.executor_work import Bucketed
from tieout.verification.compare import Shape
from tieout.verification.localise import Found, Localised, Rechecking, RowRecheck, size_of
from tieout.verification.plan import Side, TablePlan
from tieout.verification.rows import fields_of, key_hashes, key_text


@dataclass(frozen=True, slots=True)
class LooseRow:
    """A row on its way to its bucket: the hashes of its key and of the whole row, and three facts of each value.

    `marks` are compared; `texts` go into reports (complete for a number with a tolerance, which applies to the text);
    `sizes` are in bytes. `lookup` is the key to look the row up by; None if no literal matches it exactly.
    """

    source: bool
    key: bytes
    print: bytes
    marks: tuple[bytes, ...]
    texts: tuple[str | None, ...]
    sizes: tuple[int, ...]
    lookup: Key | None

    def kept(self, place: int, longest: int) -> str | None:
        return kept_text(self.texts[place], self.sizes[place], self.marks[place], longest)


@dataclass(frozen=True, slots=True)
class Sent:
    """Rows of one bucket from one part of one side. Only the latest attempt at a part counts: a database driver that
    gave up half-way has sent some rows already.
    """

    source: bool
    part: int
    attempt: int
    rows: tuple[LooseRow, ...] = ()


@dataclass(frozen=True)
class ScanBuckets:
    """The rows of one range of one side that are in these buckets."""

    side: Side
    is_source: bool
    keys: KeyRange
    part: int
    buckets: int
    wanted: frozenset[int]

    def run(self) -> Iterator[Bucketed]:
        reader = self.side.reader
        for attempt in count():
            try:
                yield from self._scan(reader.read(self.side.scan, self.keys), attempt)
            except NeedsCautiousReader:
                reader = reader.cautious()
                for bucket in self.wanted:
                    yield Bucketed(bucket, Sent(self.is_source, self.part, attempt + 1))
            else:
                return

    def _scan(self, batches: Iterator[pa.RecordBatch], attempt: int) -> Iterator[Bucketed]:
        for batch in batches:
            fields = fields_of(self.side.scan, batch)
            found = loose_rows(fields, self.side.scan, self.is_source, self.buckets, self.wanted)
            for bucket, rows in found.items():
                yield Bucketed(bucket, Sent(self.is_source, self.part, attempt, tuple(rows)))


def loose_rows(
    fields: Sequence[Field], scan: Scan, is_source: bool, buckets: int, wanted: frozenset[int]
) -> dict[int, list[LooseRow]]:
    """The rows of wanted buckets. Long values are truncated here, on the executor: their marks are compared."""
    prints = fingerprints(fields)
    keys = key_hashes(fields, scan.key, prints)
    places = buckets_of(keys, buckets)
    tolerant = [column.kind.tolerance is not None for column in scan.columns]
    result: dict[int, list[LooseRow]] = defaultdict(list)
    for row in map(int, np.flatnonzero(np.isin(places, np.fromiter(wanted, dtype=np.uint32)))):
        texts = (f.text(row) if exact else f.kept(row) for f, exact in zip(fields, tolerant, strict=True))
        result[int(places[row])].append(
            LooseRow(
                is_source,
                keys[row].tobytes(),
                prints[row].tobytes(),
                tuple(item.mark(row) for item in fields),
                tuple(texts),
                tuple(item.size(row) for item in fields),
                key_text(fields, scan.key, row) if scan.key else None,
            )
        )
    return result


@dataclass(frozen=True, slots=True)
class Suspects:
    """What comparing some buckets found, for the driver to recheck: `all` if every difference counts, `certain` those
    of rows that can't be looked up, and `keys` the keys of the others, by their hashes.
    """

    all: Localised
    certain: Localised
    keys: Mapping[bytes, Key]


_TOO_MANY = "too many rows differ to recheck them all: some were counted at the first look"


class _Collected:
    """Collects what differs, for the driver. Stands where a RowRecheck does."""

    def __init__(self, shape: Shape, limit: int | None) -> None:
        self._all = Found(shape, limit)
        self._certain = Found(shape, limit)
        self._keys: dict[bytes, Key] = {}

    @property
    def found(self) -> Found:
        """Where each row is counted, and each difference listed: its room is what values are truncated by."""
        return self._all

    def add_differences(self, keys: Mapping[bytes, Key], differences: Sequence[Difference]) -> None:
        self._all.add_all(differences)
        if len(self._keys) + len(keys) > MOST_COLLECTED:
            self._certain.add_all(differences)
            self._certain.note(_TOO_MANY)
        else:
            self._keys |= keys

    def add_certain(self, differences: Sequence[Difference]) -> None:
        self._all.add_all(differences)
        self._certain.add_all(differences)

    def result(self) -> Suspects:
        everything, certain = self._all.result(), self._certain.result()
        notes = tuple(dict.fromkeys((*everything.notes, *certain.notes)))
        return Suspects(everything, replace(certain, notes=notes), self._keys)


WAITING_BYTES = 1 << 20
"""Bytes of values of differences that wait to be added: until then they don't count for KEPT_BYTES."""

MOST_COLLECTED = 200_000
"""Keys that one task sends to the driver to be rechecked."""


@dataclass(frozen=True)
class CompareBuckets:
    """Compares the rows that both sides sent to a bucket. `collects`: only the driver can recheck them (Suspects)."""

    plan: TablePlan
    shape: Shape
    limit: int | None
    rechecking: Rechecking
    collects: bool = False

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Turns the payloads of whole buckets, sorted by bucket, into one result or error for all of them."""
        try:
            result: Localised | Suspects | TieoutError = self._compare(batches)
        except TieoutError as error:
            result = error
        yield pa.RecordBatch.from_pydict({"payload": pa.array([pickle.dumps(result)], pa.binary())})

    def _compare(self, batches: Iterator[pa.RecordBatch]) -> Localised | Suspects:
        collected = _Collected(self.shape, self.limit) if self.collects else None
        found = Found(self.shape, self.limit) if collected is None else collected.found
        rechecks = collected or RowRecheck(self.plan, self.rechecking, found)
        for _, parts in groupby(_payloads(batches), key=itemgetter(0)):
            sent = [part for _, part in parts]
            failed = next((part for part in sent if isinstance(part, TieoutError)), None)
            if failed is not None:
                raise failed
            self._compare_bucket(sent, found, rechecks)
        if isinstance(rechecks, _Collected):
            return rechecks.result()
        rechecks.finish()
        return found.result()

    def _compare_bucket(self, sent: Sequence[Sent], found: Found, rechecks: RowRecheck | _Collected) -> None:
        sides: dict[bool, dict[bytes, list[LooseRow]]] = {True: defaultdict(list), False: defaultdict(list)}
        for row in _latest(sent):
            sides[row.source][row.key].append(row)
        found.rows(sum(map(len, sides[True].values())), sum(map(len, sides[False].values())))
        suspects: dict[bytes, Key] = {}
        waiting: list[Difference] = []
        size = 0
        for key in sides[True].keys() | sides[False].keys():
            rows = sides[True].get(key, []), sides[False].get(key, [])
            differences = list(self._differences(*rows, found))
            lookup = _lookup((*rows[0], *rows[1])) if differences else None
            if lookup is None and isinstance(rechecks, _Collected):
                rechecks.add_certain(differences)
            elif lookup is None:
                found.add_all(differences)
            else:
                suspects[key] = lookup
                waiting += differences
                size += sum(map(size_of, differences))
                if size > WAITING_BYTES:
                    rechecks.add_differences(suspects, waiting)
                    suspects, waiting, size = {}, [], 0
        rechecks.add_differences(suspects, waiting)

    def _differences(self, left: list[LooseRow], right: list[LooseRow], found: Found) -> Iterator[Difference]:
        if self.shape.key and len(left) == len(right) == 1:
            if left[0].print != right[0].print:
                changed = self._changed(left[0], right[0], found.longest)
                if changed:
                    key = self._identity(left[0], found.longest)
                    yield Difference(self.shape.table, DifferenceKind.CHANGED, key, changed)
            return
        if self.shape.key and (len(left) > 1 or len(right) > 1):
            found.ambiguous()
        copies: dict[bytes, int] = defaultdict(int)
        for row in left:
            copies[row.print] += 1
        for row in right:
            copies[row.print] -= 1
        for row in {row.print: row for row in (*right, *left)}.values():
            more = copies[row.print]
            if more:
                kind = DifferenceKind.MISSING if more > 0 else DifferenceKind.EXTRA
                yield Difference(self.shape.table, kind, self._identity(row, found.longest), copies=abs(more))

    def _identity(self, row: LooseRow, longest: int) -> dict[str, str | None]:
        # The values of a key may be longer, so that they find the row.
        of_key = LONGEST_KEPT if self.shape.key else longest_of(len(self.shape.columns), longest)
        return {self.shape.columns[place]: row.kept(place, of_key) for place in self.shape.identity}

    def _changed(self, left: LooseRow, right: LooseRow, longest: int) -> dict[str, ValuePair]:
        """The columns that differ, tolerances applied."""
        places = []
        for place in range(len(self.shape.columns)):
            tolerance = self.shape.tolerances.get(place)
            texts = left.texts[place], right.texts[place]
            if left.marks[place] != right.marks[place] and (tolerance is None or not within(*texts, tolerance)):
                places.append(place)
        longest = longest_of(2 * len(places), longest)
        return {self.shape.columns[p]: ValuePair(left.kept(p, longest), right.kept(p, longest)) for p in places}


def _lookup(rows: Sequence[LooseRow]) -> Key | None:
    """The key to look up rows that share it by; None if no literal matches all of them exactly."""
    return None if any(row.lookup is None for row in rows) else rows[0].lookup


def _payloads(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int | None, Any]]:
    for batch in batches:
        for bucket, payload in zip(batch.column("bucket"), batch.column("payload"), strict=True):
            yield bucket.as_py(), pickle.loads(payload.as_py())


def _latest(parts: Sequence[Sent]) -> Iterator[LooseRow]:
    attempts: dict[tuple[bool, int], int] = defaultdict(int)
    for part in parts:
        place = (part.source, part.part)
        attempts[place] = max(attempts[place], part.attempt)
    for part in parts:
        if part.attempt == attempts[part.source, part.part]:
            yield from part.rows
