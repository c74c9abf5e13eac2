"""Values as Spark hashes them: two hash alike only if they are the same in their canonical form.

Not the other way round: the same value may hash differently on the two sides (a UUID in upper case). Its row is
then read and compared in canonical form, so a form here may be finer than the canonical one, never coarser.
"""

from __future__ import annotations

import math

from pyspark.sql import Column
from pyspark.sql import functions as fn
from pyspark.sql import types as spark
from pyspark.sql.types import DataType

from tieout.model.canonical_kinds import MAX_DECIMAL_DIGITS, Form, Kind, Tolerance
from tieout.spark.nested import json_text, utc_text
from tieout.spark.types import is_collated, is_nested

_MOMENTS = (spark.TimestampType, spark.TimestampNTZType, spark.DateType)
_WHOLE = (spark.IntegralType, spark.BooleanType)
_DAY_MICROS = 86_400_000_000
_DIGITS = {"ByteType": 3, "ShortType": 5, "IntegerType": 10, "LongType": 19, "BooleanType": 1}


def hashable(value: Column, kind: Kind, ours: DataType, theirs: DataType) -> tuple[Column, ...]:
    """What to hash for a value of type `ours` that is compared with values of type `theirs`."""
    if kind.tolerance is not None:
        return _cell(value, ours, kind.tolerance)
    if is_nested(ours):
        return (json_text(value, ours, entries=is_nested(theirs)),)
    if is_collated(ours) or is_collated(theirs):
        # Spark 4.0 hashes what a collation takes for equal alike.
        return (value.cast("binary"),)
    return (value,) if ours == theirs else (_in_common(value, kind, ours, theirs),)


def _in_common(value: Column, kind: Kind, ours: DataType, theirs: DataType) -> Column:
    """A form that holds values of both types; what none holds exactly is text."""
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
    # A number that is its own cell may be one that no double holds: neighbours would share it.
    return *found, fn.when(~counted, _trimmed(value.cast("string")))
