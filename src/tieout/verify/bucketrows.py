"""The rows of buckets that differ: read on both sides, brought together by Spark, compared."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from tieout.canonical.fields import PRESENT, Field
from tieout.canonical.fingerprint import fingerprints
from tieout.canonical.numbers import within
from tieout.connectors.base import StartOver
from tieout.errors import TieoutError
from tieout.model.differences import Difference, DifferenceKind, ValuePair
from tieout.model.keys import Key, KeyRange
from tieout.model.kinds import Tolerance
from tieout.spark.work import Bucketed
from tieout.verify.bucketing import buckets_of
from tieout.verify.compare import Shape
from tieout.verify.found import Found, Localised
from tieout.verify.plan import Side, TablePlan
from tieout.verify.rows import fields_of, key_hashes, key_text
from tieout.verify.settle import Patience, Settler


@dataclass(frozen=True, slots=True)
class LooseRow:
    """A row on its way to its bucket: hashes, and every value as canonical text and as it stands in the record.

    `found`: by its key's text.
    """

    source: bool
    key: bytes
    print: bytes
    texts: tuple[str | None, ...]
    values: tuple[bytes, ...]
    found: bool


@dataclass(frozen=True, slots=True)
class Sent:
    """Rows of one bucket from one part of one side. Only the latest attempt at a part counts: a driver
    that gave up half-way has sent some rows already."""

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
        try:
            yield from self._scan(reader.read(self.side.scan, self.keys), 0)
        except StartOver:
            for bucket in self.wanted:
                yield Bucketed(bucket, Sent(self.is_source, self.part, 1))
            yield from self._scan(reader.cautious().read(self.side.scan, self.keys), 1)

    def _scan(self, batches: Iterator[pa.RecordBatch], attempt: int) -> Iterator[Bucketed]:
        for batch in batches:
            fields = fields_of(self.side.scan, batch)
            found = loose_rows(fields, self.side.scan.key, self.is_source, self.buckets, self.wanted)
            for bucket, rows in found.items():
                yield Bucketed(bucket, Sent(self.is_source, self.part, attempt, tuple(rows)))


def loose_rows(
    fields: Sequence[Field], key: tuple[int, ...], is_source: bool, buckets: int, wanted: frozenset[int]
) -> dict[int, list[LooseRow]]:
    prints = fingerprints(fields)
    keys = key_hashes(fields, key, prints)
    places = buckets_of(keys, buckets)
    words = [item.words() for item in fields]
    result: dict[int, list[LooseRow]] = defaultdict(list)
    for row in np.flatnonzero(np.isin(places, np.fromiter(wanted, dtype=np.uint32))):
        texts = tuple(item.text(int(row)) for item in fields)
        values = tuple(
            (word[row].tobytes() if item.status[row] == PRESENT else bytes([item.status[row]]))
            + item.odd.get(int(row), "").encode("utf-8", "surrogateescape")
            for item, word in zip(fields, words, strict=True)
        )
        found = key_text(fields, key, int(row)) is not None
        result[int(places[row])].append(
            LooseRow(is_source, keys[row].tobytes(), prints[row].tobytes(), texts, values, found)
        )
    return result


@dataclass(frozen=True)
class CompareBuckets:
    """Compares the rows of a bucket, from the payloads that its two sides sent."""

    plan: TablePlan
    shape: Shape
    limit: int | None
    patience: Patience

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Payloads of whole buckets, sorted by bucket, into one result (or error) for all of them."""
        try:
            result: Localised | TieoutError = self._compare(batches)
        except TieoutError as error:
            result = error
        yield pa.RecordBatch.from_pydict({"payload": pa.array([pickle.dumps(result)], pa.binary())})

    def _compare(self, batches: Iterator[pa.RecordBatch]) -> Localised:
        found = Found(self.shape, self.limit)
        settler = Settler(self.plan, self.patience, found)
        for _, parts in groupby(_payloads(batches), key=itemgetter(0)):
            sent = [part for _, part in parts]
            failed = next((part for part in sent if isinstance(part, TieoutError)), None)
            if failed is not None:
                raise failed
            self._compare_bucket(sent, found, settler)
        settler.finish()
        return found.result()

    def _compare_bucket(self, sent: Sequence[Sent], found: Found, settler: Settler) -> None:
        sides: dict[bool, dict[bytes, list[LooseRow]]] = {True: defaultdict(list), False: defaultdict(list)}
        for row in _latest(sent):
            sides[row.source][row.key].append(row)
        found.rows(sum(map(len, sides[True].values())), sum(map(len, sides[False].values())))
        suspects: dict[Key, list[Difference]] = {}
        for key in sides[True].keys() | sides[False].keys():
            rows = sides[True].get(key, []), sides[False].get(key, [])
            differences = list(self._differences(*rows, found))
            text = self._key((*rows[0], *rows[1])) if differences else None
            if text is None:
                found.add_all(differences)
            else:
                suspects[text] = differences
        settler.add_differences(suspects)

    def _key(self, rows: Sequence[LooseRow]) -> Key | None:
        """The key of rows that share one; None if they can't be looked up by it."""
        if not self.shape.key or not all(row.found for row in rows):
            return None
        return tuple(str(rows[0].texts[place]) for place in self.shape.key)

    def _differences(self, left: list[LooseRow], right: list[LooseRow], found: Found) -> Iterator[Difference]:
        if self.shape.key and len(left) == len(right) == 1:
            if left[0].print != right[0].print:
                changed = self._changed(left[0], right[0])
                if changed is not None:
                    yield Difference(self.shape.table, DifferenceKind.CHANGED, self._identity(left[0]), changed)
            return
        if self.shape.key and (len(left) > 1 or len(right) > 1):
            found.ambiguous(tuple(str(v) for v in self._identity((left or right)[0]).values()))
        copies: dict[bytes, int] = defaultdict(int)
        for row in left:
            copies[row.print] += 1
        for row in right:
            copies[row.print] -= 1
        for row in {row.print: row for row in (*right, *left)}.values():
            more = copies[row.print]
            if more:
                kind = DifferenceKind.MISSING if more > 0 else DifferenceKind.EXTRA
                yield Difference(self.shape.table, kind, self._identity(row), copies=abs(more))

    def _identity(self, row: LooseRow) -> dict[str, str | None]:
        places = self.shape.key or range(len(self.shape.columns))
        return {self.shape.columns[place]: row.texts[place] for place in places}

    def _changed(self, left: LooseRow, right: LooseRow) -> dict[str, ValuePair] | None:
        """The columns that differ; None if all that do are within their tolerance."""
        changed: dict[str, ValuePair] = {}
        tolerated = False
        for place, (a, b) in enumerate(zip(left.texts, right.texts, strict=True)):
            # Two values may be shown alike and differ: bytes that are no UTF-8 show as hexadecimal.
            if left.values[place] == right.values[place]:
                continue
            tolerance = self.shape.tolerances.get(place)
            if tolerance is not None and _close(a, b, tolerance):
                tolerated = True
                continue
            changed[self.shape.columns[place]] = ValuePair(a, b)
        return None if tolerated and not changed else changed


def _close(a: str | None, b: str | None, tolerance: Tolerance) -> bool:
    return a is not None and b is not None and within(a, b, tolerance)


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
