"""Rows hashed by Spark itself: two lanes of xxhash64 with a random seed, 128 bits together.

Two values hash alike only if they are the same in their canonical form. Not the other way round: the same value may
hash differently on the two sides (a UUID in upper case). Verification then reads its row and compares it in canonical
form, so a form here may be finer than the canonical one, never coarser.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn
from pyspark.sql import types as spark
from pyspark.sql.types import DataType

from tieout.connectors.protocols.endpoint import Scan
from tieout.model.canonical_kinds import MAX_DECIMAL_DIGITS, Form, Kind, Tolerance
from tieout.model.digests import MODULUS, Digest
from tieout.spark.frames.types import is_collated, is_nested
from tieout.spark.frames.values import json_text, place_name, utc_text

KEY = ("k0", "k1")
ROW = ("h0", "h1")
_HALF = 0xFFFFFFFF
_BITMAP = 62


@dataclass(frozen=True)
class SparkHash:
    """How to hash rows of one frame so that they compare with rows of another, whose types are `theirs`.

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
        # Without a key, all of its values identify a row.
        key = [self._lane(lane, self.scan.key or every, values).alias(name) for lane, name in enumerate(KEY)]
        return rows.select("*", *key, *row)

    def _lane(self, lane: int, places: Sequence[int], values: Sequence[tuple[Column, ...]]) -> Column:
        # The two literals make a seed: Spark's own is always 42. As text, the job's is no part of the code that
        # Spark generates: as a number it would be compiled anew for every job.
        start = [fn.lit(f"{self.seed:016x}"), fn.lit(lane)]
        return fn.xxhash64(*start, *_nulls(places), *(part for place in places for part in values[place]))


def _nulls(places: Sequence[int]) -> list[Column]:
    """A bitmap of the NULL values. xxhash64 skips NULLs: without this, ('a', NULL) would hash like (NULL, 'a')."""
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


_MOMENTS = (spark.TimestampType, spark.TimestampNTZType, spark.DateType)
_WHOLE = (spark.IntegralType, spark.BooleanType)
_DAY_MICROS = 86_400_000_000
_DIGITS = {"ByteType": 3, "ShortType": 5, "IntegerType": 10, "LongType": 19, "BooleanType": 1}


def hashable(value: Column, kind: Kind, ours: DataType, theirs: DataType) -> tuple[Column, ...]:
    """The columns to hash for a value of type `ours` that is compared with values of type `theirs`."""
    if kind.tolerance is not None:
        return _cell(value, ours, kind.tolerance)
    if is_nested(ours):
        return (json_text(value, ours, entries=is_nested(theirs)),)
    if is_collated(ours) or is_collated(theirs):
        # Spark 4.0 gives values that a collation considers equal the same hash.
        return (value.cast("binary"),)
    return (value,) if ours == theirs else (_in_common(value, kind, ours, theirs),)


def _in_common(value: Column, kind: Kind, ours: DataType, theirs: DataType) -> Column:
    """A form that holds values of both types: text, if no type holds them exactly."""
    both = (ours, theirs)
    if all(isinstance(t, _WHOLE) for t in both):
        return value.cast("bigint")
    if all(isinstance(t, spark.FractionalType) and not isinstance(t, spark.DecimalType) for t in both):
        return value.cast("double")
    if all(isinstance(t, (*_WHOLE, spark.DecimalType)) for t in both) and kind.form is not Form.SCALED_NUMBER:
        common = _common_decimal(ours, theirs)
        return _trimmed(value.cast("string")) if common is None else value.cast(common)
    if all(isinstance(t, _MOMENTS) for t in both):
        return _micros(value, ours)
    return utc_text(value) if isinstance(ours, spark.TimestampType) else value.cast("string")


def _common_decimal(ours: DataType, theirs: DataType) -> spark.DecimalType | None:
    """Small if it can be (up to 18 digits Spark keeps in a long); None if 38 digits are not enough."""
    sizes = [
        (t.precision - t.scale, t.scale) if isinstance(t, spark.DecimalType) else (_DIGITS[type(t).__name__], 0)
        for t in (ours, theirs)
    ]
    whole, scale = (max(parts) for parts in zip(*sizes, strict=True))
    return spark.DecimalType(whole + scale, scale) if whole + scale <= MAX_DECIMAL_DIGITS else None


def _trimmed(number: Column) -> Column:
    """A decimal's text without zeros after the last digit behind the point."""
    return fn.when(number.contains("."), fn.rtrim(fn.rtrim(number, fn.lit("0")), fn.lit("."))).otherwise(number)


def _micros(moment: Column, t: DataType) -> Column:
    """Microseconds since 1970, of the wall clock or in UTC; no session's time zone is in them."""
    if isinstance(t, spark.TimestampType):
        return fn.unix_micros(moment)
    if isinstance(t, spark.DateType):
        return fn.unix_date(moment).cast("bigint") * fn.lit(_DAY_MICROS)
    return fn.timestamp_diff("MICROSECOND", fn.lit("1970-01-01").cast("timestamp_ntz"), moment)


def _cell(value: Column, t: DataType, tolerance: Tolerance) -> tuple[Column, ...]:
    """The cell of a grid in which all numbers lie within the tolerance, like that of the canonical form."""
    number = value.cast("double")
    if tolerance.relative:
        # Spark's ln(0) is NULL, and so is the place; zero is its own cell then.
        place = fn.ln(fn.abs(number)) / fn.lit(math.log1p(tolerance.amount))
        sort = fn.signum(number).cast("tinyint")
    else:
        place = number / fn.lit(tolerance.amount)
        sort = fn.lit(2).cast("tinyint")
    counted = fn.coalesce(fn.abs(place) < fn.lit(2.0**53), fn.lit(False))
    cell = fn.when(counted, fn.floor(place).cast("double")).otherwise(number)
    found = fn.when(number.isNotNull(), fn.when(counted, sort).otherwise(fn.lit(3).cast("tinyint"))), cell
    if isinstance(t, spark.FloatType | spark.DoubleType):
        return found
    # A number that is its own cell may not fit a double: neighbours would share the cell.
    return *found, fn.when(~counted, _trimmed(value.cast("string")))
