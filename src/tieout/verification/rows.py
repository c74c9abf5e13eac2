"""Rows in canonical form, in memory: the rows of one small range or bucket, never of a whole table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tieout.canonical.decode import decode
from tieout.canonical.fields import Field
from tieout.canonical.fingerprint import fingerprints
from tieout.canonical.hashing import Words
from tieout.connectors.protocols.endpoint import Reader, Scan, retry_cautiously
from tieout.model.keys import EVERYTHING, Key, KeyRange

LOOKUP = 500
"""Keys that one statement looks up."""


def fields_of(scan: Scan, batch: pa.RecordBatch) -> list[Field]:
    return [decode(column.kind, array) for column, array in zip(scan.columns, batch.columns, strict=True)]


def key_hashes(fields: Sequence[Field], key: Sequence[int], prints: Words) -> Words:
    """What identifies a row: the hash of its key, or of the whole row if the table has no key."""
    return fingerprints([fields[place] for place in key]) if key else prints


def key_text(fields: Sequence[Field], key: Sequence[int], row: int) -> Key | None:
    if not all(fields[place].is_exact(row) for place in key):
        return None
    return tuple(fields[place].show(row) for place in key)


@dataclass
class Rows:
    """Rows with the hash of their key and their fingerprint; values stay in the batches they came in."""

    batches: list[list[Field]] = field(default_factory=list)
    keys: Words = field(default_factory=lambda: np.zeros((0, 2), dtype=np.uint64))
    prints: Words = field(default_factory=lambda: np.zeros((0, 2), dtype=np.uint64))
    places: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))

    def __len__(self) -> int:
        return len(self.places)

    def field_at(self, row: int, column: int) -> tuple[Field, int]:
        batch, place = self.places[row]
        return self.batches[batch][column], int(place)

    def text(self, row: int, column: int) -> str | None:
        item, place = self.field_at(row, column)
        return item.text(place)

    def kept(self, row: int, column: int, longest: int) -> str | None:
        """The value for reports, truncated after `longest` bytes."""
        item, place = self.field_at(row, column)
        return item.kept(place, longest)

    @property
    def size(self) -> int:
        """Bytes of all values."""
        return sum(item.nbytes for fields in self.batches for item in fields)

    def key(self, row: int, columns: Sequence[int]) -> Key | None:
        """The key as text; None if no text says it exactly, so that it can't be looked up again."""
        batch, place = self.places[row]
        return key_text(self.batches[batch], columns, int(place))


def collect(scan: Scan, batches: Iterable[pa.RecordBatch]) -> Rows:
    decoded = [fields_of(scan, batch) for batch in batches if batch.num_rows]
    if not decoded:
        return Rows()
    prints = [fingerprints(fields) for fields in decoded]
    keys = [key_hashes(fields, scan.key, own) for fields, own in zip(decoded, prints, strict=True)]
    places = [
        np.column_stack((np.full(len(own), number, dtype=np.int64), np.arange(len(own), dtype=np.int64)))
        for number, own in enumerate(prints)
    ]
    return Rows(decoded, np.concatenate(keys), np.concatenate(prints), np.concatenate(places))


def read_rows(reader: Reader, scan: Scan, keys: KeyRange) -> Rows:
    return retry_cautiously(reader, lambda r: collect(scan, r.read(scan, keys)))


def look_up_rows(reader: Reader, scan: Scan, keys: Sequence[Key], hashes: Sequence[bytes] | None = None) -> Rows:
    """The rows with exactly these keys, even if the engine considers other values equal to them.

    `hashes` are the hashes of the keys, in their order; without them, rows are recognised by the text of their key,
    which no key with a tolerance allows. Where a literal does not match a key exactly, this reads every row and keeps
    those that have it.
    """
    return retry_cautiously(reader, lambda r: collect(scan, look_up_batches(r, scan, keys, hashes)))


def look_up_batches(
    reader: Reader, scan: Scan, keys: Sequence[Key], hashes: Sequence[bytes] | None = None
) -> Iterator[pa.RecordBatch]:
    """The same as batches of the scan. May raise NeedsCautiousReader, even after the first batches."""

    def having(batch: pa.RecordBatch, own: Set[object]) -> pa.RecordBatch:
        fields = fields_of(scan, batch)
        if hashes is None:
            found = [key_text(fields, scan.key, row) in own for row in range(batch.num_rows)]
        else:
            found = [each.tobytes() in own for each in fingerprints([fields[place] for place in scan.key])]
        return batch.filter(pa.array(found, pa.bool_()))

    identities: Sequence[object] = keys if hashes is None else hashes
    if not reader.finds(scan):
        everything = set(identities)
        return (having(batch, everything) for batch in reader.read(scan, EVERYTHING))
    parts = (slice(start, start + LOOKUP) for start in range(0, len(keys), LOOKUP))
    # Each part returns its own keys alone: the engine may consider keys of two parts equal.
    return (
        having(batch, own)
        for part in parts
        for own in [set(identities[part])]
        for batch in reader.lookup(scan, keys[part])
    )
