"""Work of executors for index checks: digests of a table and of an index, and the rows and entries where they
differ.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tieout.canonical.bucket_digests import buckets_of
from tieout.canonical.decode import decode
from tieout.canonical.fields import Field
from tieout.canonical.hashing import Words
from tieout.checks.indexes.index_fingerprints import BatchPrints, Tally
from tieout.checks.indexes.projection import TableColumns
from tieout.connectors.protocols.endpoint import ScanColumn, retry_cautiously
from tieout.connectors.protocols.paths import Path, RowVersions, TablePath
from tieout.model.truncated import LONGEST_IN_FAILURE, stored
from tieout.rate_limit import rate_limited
from tieout.spark.executor_work import Cells

CELLS = 5
"""Columns for a row or entry of a bucket that differs: side, address, fingerprint, values, and the row's key."""
ROW, EXCLUDED, INVISIBLE, ENTRY = "row", "excluded", "invisible", "entry"
"""Sides: a row that should have an entry; a row that should not; a row version that no reader sees; an entry."""


@dataclass(frozen=True)
class Digested:
    """The tallies of each index (one, for an index's own entries), and how many rows were read."""

    tallies: tuple[Tally, ...]
    rows: int


@dataclass(frozen=True)
class DigestTable:
    """Digests what the indexes should hold for a part of a table: one scan for all of them.

    `rooted`: with the addresses that entries hold for the rows, which takes reading the line pointers.
    """

    path: TablePath
    read: TableColumns
    part: Any
    buckets: int
    rows_per_second: float | None = None
    rooted: bool = False

    def run(self) -> Iterator[Digested]:
        yield retry_cautiously(self.path, self._digested)

    def _digested(self, path: TablePath) -> Digested:
        tallies = tuple(Tally.empty(self.buckets) for _ in self.read.projections)
        versions = path.versions(self.part) if self.rooted else None
        rows = 0
        for batch in rate_limited(path.read(self.part), _rows, self.rows_per_second):
            address, fields = _decoded(path, batch if versions is None else _rooted(versions, batch))
            rows += batch.num_rows
            hashed = BatchPrints(address, fields)
            places = buckets_of(hashed.addresses(), self.buckets) if address else None
            for tally, projection in zip(tallies, self.read.projections, strict=True):
                prints = hashed.of(projection.columns)
                own = buckets_of(prints, self.buckets) if places is None else places
                if projection.condition is None:
                    tally.take(prints, own)
                else:
                    held = projection.holds(fields)
                    tally.take(prints[held], own[held])
        return Digested(tallies, rows)


@dataclass(frozen=True)
class DigestIndex:
    """Digests a part of an index."""

    path: Path
    part: Any
    buckets: int
    rows_per_second: float | None = None

    def run(self) -> Iterator[Digested]:
        yield retry_cautiously(self.path, self._digested)

    def _digested(self, path: Path) -> Digested:
        tally, rows = Tally.empty(self.buckets), 0
        for batch in rate_limited(path.read(self.part), _rows, self.rows_per_second):
            address, fields = _decoded(path, batch)
            tally.take(*_hashed(address, fields, self.buckets))
            rows += batch.num_rows
        return Digested((tally,), rows)


@dataclass(frozen=True)
class ScanTable:
    """The rows of a part of a table that are in buckets that differ; `wanted` has those of each index."""

    path: TablePath
    read: TableColumns
    part: Any
    buckets: int
    wanted: tuple[frozenset[int], ...]

    def run(self) -> Iterator[Cells]:
        yield from retry_cautiously(self.path, lambda path: list(self._found(path)))

    def _found(self, path: TablePath) -> Iterator[Cells]:
        versions = path.versions(self.part)
        seen: list[npt.NDArray[np.int64]] = []
        for batch in path.read(self.part):
            if versions is not None:
                seen.append(_numbers(batch))
                batch = _rooted(versions, batch)
            yield from self._rows(*_decoded(path, batch))
        if versions is not None:
            rows = np.concatenate(seen) if seen else np.zeros(0, dtype=np.int64)
            yield from self._invisible(versions.invisible(rows))

    def _rows(self, address: list[Field], fields: list[Field]) -> Iterator[Cells]:
        for number, (projection, wanted) in enumerate(zip(self.read.projections, self.wanted, strict=True)):
            own = [fields[place] for place in projection.columns]
            prints, places = _hashed(address, own, self.buckets)
            rows = np.flatnonzero(_among(places, wanted))
            held = projection.holds(fields)[rows]
            key = [fields[place] for place in self.read.key]
            sides = [ROW if each else EXCLUDED for each in held]
            yield _cells(number, sides, rows, address, prints, own, key)

    def _invisible(self, addresses: npt.NDArray[np.int64]) -> Iterator[Cells]:
        field = decode(self.path.address[0].kind, pa.array(addresses))
        prints, places = _hashed([field], [], self.buckets)
        for number, wanted in enumerate(self.wanted):
            rows = np.flatnonzero(_among(places, wanted))
            yield _cells(number, [INVISIBLE] * len(rows), rows, [field], prints, [], [])


@dataclass(frozen=True)
class ScanIndex:
    """The entries of a part of an index, which is the `number`th, that are in buckets that differ."""

    path: Path
    number: int
    part: Any
    buckets: int
    wanted: frozenset[int]

    def run(self) -> Iterator[Cells]:
        yield from retry_cautiously(self.path, lambda path: list(self._found(path)))

    def _found(self, path: Path) -> Iterator[Cells]:
        for batch in path.read(self.part):
            address, fields = _decoded(path, batch)
            prints, places = _hashed(address, fields, self.buckets)
            rows = np.flatnonzero(_among(places, self.wanted))
            yield _cells(self.number, [ENTRY] * len(rows), rows, address, prints, fields, [])


@dataclass(frozen=True)
class TogetherAtOnce:
    """Reads pieces one after another, all at one moment, which `path` holds."""

    path: TablePath
    pieces: tuple[ScanTable | ScanIndex, ...]

    def run(self) -> Iterator[Cells]:
        with self.path.shared_snapshot() as at_it:
            for piece in self.pieces:
                yield from replace(piece, path=at_it(piece.path)).run()


def _rows(batch: pa.RecordBatch) -> int:
    return int(batch.num_rows)


def _rooted(versions: RowVersions, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with the addresses that entries hold."""
    return batch.set_column(0, batch.schema.field(0), pa.array(versions.entry_addresses(_numbers(batch))))


def _numbers(batch: pa.RecordBatch) -> npt.NDArray[np.int64]:
    return np.asarray(batch.column(0).to_numpy(zero_copy_only=False), dtype=np.int64)


def _decoded(path: Path, batch: pa.RecordBatch) -> tuple[list[Field], list[Field]]:
    wide = len(path.address)
    return _fields(path.address, batch.columns[:wide]), _fields(path.columns, batch.columns[wide:])


def _fields(columns: Sequence[ScanColumn], arrays: Sequence[pa.Array]) -> list[Field]:
    return [decode(column.kind, array) for column, array in zip(columns, arrays, strict=True)]


def _hashed(address: Sequence[Field], values: Sequence[Field], buckets: int) -> tuple[Words, npt.NDArray[np.uint32]]:
    """The fingerprints, and their buckets by address, or by fingerprint if there are no addresses."""
    hashed = BatchPrints(address, values)
    prints = hashed.of(range(len(values)))
    return prints, buckets_of(hashed.addresses() if address else prints, buckets)


def _among(places: npt.NDArray[np.uint32], wanted: frozenset[int]) -> npt.NDArray[np.bool_]:
    return np.isin(places, np.fromiter(wanted, dtype=np.uint32, count=len(wanted)))


def _cells(
    number: int,
    sides: Sequence[str],
    rows: npt.NDArray[np.intp],
    address: Sequence[Field],
    prints: Words,
    values: Sequence[Field],
    key: Sequence[Field],
) -> Cells:
    """Without addresses, rows and entries are matched by their fingerprints."""
    marks = [prints[row].tobytes().hex() for row in rows]
    places = [_texts(address, row) for row in rows] if address else marks
    columns = [sides, places, marks, [_texts(values, row) for row in rows], [_texts(key, row) for row in rows]]
    return Cells(number, [pa.array(column, pa.string()) for column in columns])


def _texts(fields: Sequence[Field], row: int) -> str:
    """The values as failures hold them: long ones truncated. Fingerprints are what is compared."""
    return json.dumps([stored(field.kept(int(row), LONGEST_IN_FAILURE)) for field in fields])
