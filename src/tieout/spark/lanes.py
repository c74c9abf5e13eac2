"""Rows hashed by Spark itself: two lanes of xxhash64 with a random seed, 128 bits together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn
from pyspark.sql.types import DataType

from tieout.connectors.protocols.endpoint import Scan
from tieout.model.digests import MODULUS, Digest
from tieout.spark.hashable import hashable
from tieout.spark.wire import place_name

KEY = ("k0", "k1")
ROW = ("h0", "h1")
_HALF = 0xFFFFFFFF
_BITMAP = 62


@dataclass(frozen=True)
class Lanes:
    """How rows of one frame are hashed so that they compare with those of another of `theirs` types.

    `seed` is the job's. A row's hash is over the values of all columns, a key's over those of the key.
    """

    scan: Scan
    theirs: Sequence[DataType]
    seed: int

    def hashed(self, rows: DataFrame) -> DataFrame:
        """`rows`, as `selected`, with the two hashes of their key and of all of them."""
        every = tuple(range(len(self.scan.columns)))
        ours = [rows.schema[place_name(place)].dataType for place in every]
        values = [
            hashable(fn.col(place_name(place)), column.kind, ours[place], self.theirs[place])
            for place, column in enumerate(self.scan.columns)
        ]
        row = [self._lane(lane, every, values).alias(name) for lane, name in enumerate(ROW)]
        # Without a key, a row is found by all that it is.
        key = [self._lane(lane, self.scan.key or every, values).alias(name) for lane, name in enumerate(KEY)]
        return rows.select("*", *key, *row)

    def _lane(self, lane: int, places: Sequence[int], values: Sequence[tuple[Column, ...]]) -> Column:
        # The two literals make a seed: Spark's own is always 42. As text, the job's is no part of the code that
        # Spark generates: as a number it would be compiled anew for every job.
        start = [fn.lit(f"{self.seed:016x}"), fn.lit(lane)]
        return fn.xxhash64(*start, *_nulls(places), *(part for place in places for part in values[place]))


def _nulls(places: Sequence[int]) -> list[Column]:
    """Which values are NULL. xxhash64 passes over them: without this, ('a', NULL) would be (NULL, 'a')."""
    words = []
    for start in range(0, len(places), _BITMAP):
        word = fn.lit(0).cast("bigint")
        for bit, place in enumerate(places[start : start + _BITMAP]):
            word = word.bitwiseOR(fn.when(fn.col(place_name(place)).isNull(), fn.lit(1 << bit)).otherwise(fn.lit(0)))
        words.append(word)
    return words


def bucket_of(buckets: int) -> Column:
    """The bucket of a hashed row, by its key."""
    return fn.col(KEY[0]).bitwiseAND(fn.lit(buckets - 1)).cast("int")


def bucket_sums(hashed: DataFrame, *by: str, buckets: int) -> DataFrame:
    """Count and sums of hashes for each bucket, and each value of the columns `by`."""
    # Sums of 32-bit halves: a sum of 64-bit hashes would overflow, which is an error in ANSI mode.
    sums = [fn.count(fn.lit(1)).alias("rows")]
    for name in ROW:
        sums.append(fn.sum(fn.col(name).bitwiseAND(fn.lit(_HALF))).alias(f"{name}_low"))
        sums.append(fn.sum(fn.shiftrightunsigned(name, 32)).alias(f"{name}_high"))
    return hashed.groupBy(*by, bucket_of(buckets).alias("bucket")).agg(*sums)


def digest_of(rows: int, halves: Sequence[int]) -> Digest:
    """A digest from a row count and the sums of 32-bit parts, lowest first."""
    return Digest(rows, sum(value << (32 * place) for place, value in enumerate(halves)) % MODULUS)
