"""Work of executors for the digest stage: find keys that divide a table, count rows, digest ranges."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from tieout.canonical.bucket_digests import add_buckets, buckets_of, pack_buckets
from tieout.canonical.fields import Field
from tieout.canonical.fingerprint import digest, digests_by_bucket, fingerprints
from tieout.canonical.hashing import hash_values
from tieout.connectors.protocols.endpoint import HashSpec, Reader, retry_cautiously
from tieout.model.digests import EMPTY, Digest
from tieout.model.keys import Key, KeyRange
from tieout.rate_limit import RateLimit
from tieout.verification.plan import Side
from tieout.verification.rows import fields_of, key_hashes


@dataclass(frozen=True)
class WalkKeys:
    """Finds the keys that divide a range into ranges of `rows` rows."""

    side: Side
    keys: KeyRange
    rows: int
    most: int

    def run(self) -> Iterator[list[Key]]:
        yield self.side.reader.bounds(self.side.scan, self.keys, self.rows, self.most)


@dataclass(frozen=True)
class CountRange:
    side: Side
    keys: KeyRange

    def run(self) -> Iterator[int]:
        yield self.side.reader.count(self.side.scan, self.keys)


@dataclass(frozen=True, slots=True)
class RangeDigest:
    digest: Digest
    seconds: float


@dataclass(frozen=True)
class DigestRange:
    """Digests one range of one side: by the engine's own hash, or by hashing its rows here.

    `as_sent`: hashes the bytes that the server sends; otherwise the canonical form of each row.
    """

    side: Side
    keys: KeyRange
    hash: HashSpec | None = None
    rows_per_second: float | None = None
    as_sent: bool = False

    def run(self) -> Iterator[RangeDigest]:
        started, limit = time.monotonic(), RateLimit(self.rows_per_second)
        side = self.side
        if self.hash is not None:
            result = side.reader.digest(side.scan, self.keys, self.hash)
            limit.reached(result.count)
        else:
            result = retry_cautiously(side.reader, lambda reader: self._pull(reader, limit))
        yield RangeDigest(result, time.monotonic() - started)

    def _pull(self, reader: Reader, limit: RateLimit) -> Digest:
        total = EMPTY
        for part in self._digests(reader):
            total += part
            limit.reached(total.count)
        return total

    def _digests(self, reader: Reader) -> Iterator[Digest]:
        scan = self.side.scan
        if self.as_sent:
            return (digest(hash_values(rows)) for rows in reader.raw_rows(scan, self.keys))
        return (digest(fingerprints(fields_of(scan, batch))) for batch in reader.read(scan, self.keys))


@dataclass(frozen=True, slots=True)
class BucketDigests:
    digest: Digest
    buckets: bytes
    seconds: float


@dataclass(frozen=True)
class DigestBuckets:
    """Digests one range of one side, by bucket."""

    side: Side
    keys: KeyRange
    buckets: int
    rows_per_second: float | None = None

    def run(self) -> Iterator[BucketDigests]:
        started, limit = time.monotonic(), RateLimit(self.rows_per_second)
        found = retry_cautiously(self.side.reader, lambda reader: self._pull(reader, limit))
        total = sum(found.values(), EMPTY)
        yield BucketDigests(total, pack_buckets(found), time.monotonic() - started)

    def _pull(self, reader: Reader, limit: RateLimit) -> dict[int, Digest]:
        total: dict[int, Digest] = {}
        rows = 0
        for batch in reader.read(self.side.scan, self.keys):
            fields = fields_of(self.side.scan, batch)
            add_buckets(total, bucket_digests(fields, self.side.scan.key, self.buckets))
            rows += batch.num_rows
            limit.reached(rows)
        return total


def bucket_digests(fields: list[Field], key: tuple[int, ...], buckets: int) -> dict[int, Digest]:
    prints = fingerprints(fields)
    return digests_by_bucket(prints, buckets_of(key_hashes(fields, key, prints), buckets))
