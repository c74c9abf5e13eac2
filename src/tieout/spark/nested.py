"""Arrays, maps and structs as JSON text that is the same only for the same value."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as fn
from pyspark.sql import types as spark
from pyspark.sql.types import DataType

_MARK = "\0invalid "
_OPTIONS = {"ignoreNullFields": "false"}
_NAME_KEYS = (spark.StringType, spark.IntegralType, spark.BooleanType, spark.DecimalType)
"""Types of map keys that stand as an object's names; a map with others is a list of its entries."""


def json_text(value: Column, t: DataType, *, entries: bool = False) -> Column:
    """NULL stays NULL. `entries`: every map as the list of its entries in order, to be hashed: objects have none."""
    return fn.to_json(_prepared(value, t, entries), _OPTIONS)


def utc_text(moment: Column) -> Column:
    """A timestamp as text in UTC: to_json would cut it to milliseconds and print years of an era."""
    epoch = fn.lit("1970-01-01").cast("timestamp_ntz")
    return fn.timestamp_add("MICROSECOND", fn.unix_micros(moment), epoch).cast("string")


def _prepared(value: Column, t: DataType, entries: bool) -> Column:
    if isinstance(t, spark.TimestampType):
        return utc_text(value)
    if isinstance(t, spark.DateType | spark.TimestampNTZType | spark.YearMonthIntervalType | spark.DayTimeIntervalType):
        return value.cast("string")
    if isinstance(t, spark.StringType):
        return _valid(value)
    if isinstance(t, spark.ArrayType):
        element = t.elementType
        return fn.transform(value, lambda item: _prepared(item, element, entries))
    if isinstance(t, spark.MapType):
        return _prepared_map(value, t, entries)
    if isinstance(t, spark.StructType):
        fields = [_prepared(value.getField(f.name), f.dataType, entries).alias(f.name) for f in t.fields]
        return fn.when(value.isNotNull(), fn.struct(*fields))
    return value


def _valid(text: Column) -> Column:
    """Bytes that are no UTF-8 in hexadecimal, marked: JSON would have the same sign for all of them."""
    marked = fn.concat(fn.lit(_MARK), fn.lower(fn.hex(text)))
    # A text that looks like such a mark gets one more NUL, so that it is not taken for one.
    return (
        fn.when(~fn.is_valid_utf8(text), marked)
        .when(text.rlike(f"^\\x00*{_MARK}"), fn.concat(fn.lit("\0"), text))
        .otherwise(text)
    )


def _prepared_map(value: Column, t: spark.MapType, entries: bool) -> Column:
    if isinstance(t.keyType, _NAME_KEYS) and not entries:
        return fn.transform_values(value, lambda _, item: _prepared(item, t.valueType, entries))

    def in_order(a: Column, b: Column) -> Column:
        before, after = a.getField("key"), b.getField("key")
        return fn.when(before < after, -1).when(before > after, 1).otherwise(0)

    def entry(item: Column) -> Column:
        key = _prepared(item.getField("key"), t.keyType, entries).alias("key")
        return fn.struct(key, _prepared(item.getField("value"), t.valueType, entries).alias("value"))

    return fn.transform(fn.array_sort(fn.map_entries(value), in_order), entry)
